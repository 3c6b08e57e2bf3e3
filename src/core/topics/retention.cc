// SPDX-License-Identifier: Apache-2.0
// What a topic keeps for late subscribers.
#include "core/topics/retention.h"

namespace parley::core {

namespace {

void end_retention(Dispatch& dispatch, TopicRef topic) {
  Tables& t = dispatch.t;
  const MessageRef ref = t.topics.pop(t.messages, topic);
  t.messages.message(ref).retained = false;
  dispatch.finish(ref);
}

}  // namespace

void retain(Dispatch& dispatch, MessageRef ref) {
  Tables& t = dispatch.t;
  Message& message = t.messages.message(ref);
  const TopicRef topic = message.topic;
  t.topics[topic].published = t.now;
  if (t.rules.topic_retained_max == 0 || t.rules.topic_retention.us == 0) {
    return;
  }
  message.retained = true;
  t.topics.retain(t.messages, topic, ref);
  while (t.topics[topic].retained.size() > t.rules.topic_retained_max) {
    end_retention(dispatch, topic);
  }
}

static Time next_retention_end(const Tables& t) {
  return t.topics.oldest() == none ? base::time_max
                                   : t.topics.oldest_time() + t.rules.topic_retention;
}

Time retained_due(const Tables& t) {
  return base::next_multiple(next_retention_end(t), base::minutes(1));
}

void forget_retained(Dispatch& dispatch) {
  for (size_t n = 0; n < due_max && next_retention_end(dispatch.t) <= dispatch.t.now; ++n) {
    end_retention(dispatch, dispatch.t.topics.oldest());
  }
}

}  // namespace parley::core
