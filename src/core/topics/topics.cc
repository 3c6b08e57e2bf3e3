// SPDX-License-Identifier: Apache-2.0
#include "core/topics/topics.h"

#include <algorithm>

#include "base/check.h"

namespace parley::core {

TopicRef Topics::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? none : at->second;
}

TopicRef Topics::intern(std::string_view name, std::string_view maker) {
  TopicRef ref = find(name);
  if (ref == none) {
    Topic topic;
    topic.name = name;
    topic.maker = maker;
    ref = topics_.add(std::move(topic));
    by_name_.emplace(name, ref);
    if (!maker.empty()) {
      makers_.add(maker);
    }
  }
  return ref;
}

void Topics::release(TopicRef ref) {
  CHECK(topics_[ref].uses > 0);
  --topics_[ref].uses;
  free(ref);
}

void Topics::subscribe(TopicRef ref, AgentRef agent) { topics_[ref].subscribers.push_back(agent); }

void Topics::unsubscribe(TopicRef ref, AgentRef agent) {
  std::erase(topics_[ref].subscribers, agent);
  free(ref);
}

std::vector<AgentRef> Topics::listeners(std::string_view name) const {
  const TopicRef ref = find(name);
  std::vector<AgentRef> agents = ref == none ? std::vector<AgentRef>{} : topics_[ref].subscribers;
  wildcards_.add_matching(name, agents);
  return agents;
}

bool Topics::is_heard(std::string_view name) const {
  const TopicRef ref = find(name);
  return (ref != none && !topics_[ref].subscribers.empty()) || wildcards_.matches_any(name);
}

Topics::Front Topics::front_of(const Messages& messages, TopicRef ref) const {
  const Message& message = messages.message(topics_[ref].retained.front());
  return Front{message.time, message.seq, ref};
}

void Topics::retain(const Messages& messages, TopicRef ref, MessageRef message) {
  Topic& topic = topics_[ref];
  topic.retained.push_back(message);
  if (topic.retained.size() == 1) {
    fronts_.insert(front_of(messages, ref));
  }
}

TopicRef Topics::oldest() const { return fronts_.empty() ? none : fronts_.begin()->topic; }

Time Topics::oldest_time() const {
  return fronts_.empty() ? base::time_max : fronts_.begin()->time;
}

std::vector<TopicRef> Topics::retaining(size_t count_max) const {
  std::vector<TopicRef> topics;
  for (auto at = fronts_.rbegin(); at != fronts_.rend() && topics.size() < count_max; ++at) {
    topics.push_back(at->topic);
  }
  return topics;
}

MessageRef Topics::pop(const Messages& messages, TopicRef ref) {
  Topic& topic = topics_[ref];
  CHECK(!topic.retained.empty());
  auto node = fronts_.extract(front_of(messages, ref));
  const MessageRef message = topic.retained.front();
  topic.retained.pop_front();
  if (!topic.retained.empty()) {
    node.value() = front_of(messages, ref);
    fronts_.insert(std::move(node));
  }
  return message;
}

void Topics::free(TopicRef ref) {
  const Topic& topic = topics_[ref];
  if (topic.subscribers.empty() && topic.retained.empty() && topic.uses == 0) {
    if (!topic.maker.empty()) {
      makers_.remove(topic.maker);
    }
    by_name_.erase(topic.name);
    topics_.remove(ref);
  }
}

}  // namespace parley::core
