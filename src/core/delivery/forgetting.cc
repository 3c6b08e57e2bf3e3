// SPDX-License-Identifier: Apache-2.0
// Messages that are done with are forgotten, some time later.
#include "core/delivery/forgetting.h"

#include <deque>

#include "core/delivery/dispatch.h"
#include "core/requests/deadlock.h"

namespace parley::core {

namespace {

// With what it used: names of principals and topics are kept as long as something refers to them.
void forget_message(Tables& t, MessageRef ref) {
  unblock(t, ref);
  const Message message = t.messages.message(ref);
  for (DeliveryRef next = message.deliveries; next != none;) {
    const Delivery& delivery = t.messages.delivery(next);
    t.agents.release(delivery.receiver);
    next = delivery.sibling;
  }
  t.messages.remove(ref);
  t.agents.release(message.sender);
  if (message.reply_to != none) {
    t.agents.release(message.reply_to);
  }
  if (message.topic != none) {
    t.topics.release(message.topic);
  }
}

}  // namespace

// There are more than settled_max when very many are settled at once, or the rule was lowered.
static bool remembers_too_many(const Tables& t) {
  return t.remembered.size() > t.rules.settled_max;
}

static Time next_message_gone(const Tables& t) {
  return t.remembered.empty() ? base::time_max
                              : t.remembered.front().since + t.rules.settled_retention;
}

Time old_messages_due(const Tables& t) {
  return remembers_too_many(t) ? t.now
                               : base::next_multiple(next_message_gone(t), base::minutes(1));
}

void forget_messages(Tables& t) {
  for (size_t n = 0; n < due_max && (remembers_too_many(t) || next_message_gone(t) <= t.now); ++n) {
    const MessageRef ref = t.remembered.front().message;
    t.remembered.pop_front();
    forget_message(t, ref);
  }
}

}  // namespace parley::core
