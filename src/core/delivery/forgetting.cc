// SPDX-License-Identifier: Apache-2.0
// Messages that are done with are forgotten, some time later.
#include "core/delivery/forgetting.h"

#include <deque>

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

static Time next_message_gone(const Tables& t) {
  const std::deque<Messages::Remembered>& remembered = t.messages.remembered();
  return remembered.empty() ? base::time_max : remembered.front().since + t.rules.settled_retention;
}

Time old_messages_due(const Tables& t) {
  return base::next_multiple(next_message_gone(t), base::minutes(1));
}

void forget_messages(Tables& t) {
  std::deque<Messages::Remembered>& remembered = t.messages.remembered();
  for (size_t n = 0; !remembered.empty(); ++n) {
    const bool too_many = remembered.size() > t.rules.settled_max;
    const bool too_old = next_message_gone(t) <= t.now;
    if (!too_many && (!too_old || n >= due_max)) {
      return;
    }
    const MessageRef ref = remembered.front().message;
    remembered.pop_front();
    forget_message(t, ref);
  }
}

}  // namespace parley::core
