// SPDX-License-Identifier: Apache-2.0
// Messages that are done with are forgotten, some time later.
#include "core/delivery/forgetting.h"

#include <algorithm>

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

// What it takes up in memory, in units of about a delivery: its header, its deliveries, and the
// names that nobody has, each of which is a row of its own among the agents.
uint64_t weight_of(const Tables& t, const Message& message) {
  constexpr uint64_t nobody = 8;
  uint64_t weight = 1 + message.delivery_count;
  for (DeliveryRef d = message.deliveries; d != none; d = t.messages.delivery(d).sibling) {
    weight += t.agents[t.messages.delivery(d).receiver].is_registered() ? 0 : nobody;
  }
  return weight;
}

// There are more than settled_max when very many are settled at once, or the rule was lowered. One
// sender alone has no more than its share, so that what it costs has a bound also where there is
// room. That is no matter in a small table.
bool remembers_too_many(const Tables& t) {
  const Shares& shares = t.remembered.shares();
  return shares.total() > t.rules.settled_max ||
         shares.most_weight() > std::max(share_of(t.rules, t.rules.settled_max), share_of_done_min);
}

Time next_message_gone(const Tables& t) {
  const uint32_t first = t.remembered.first();
  return first == none ? base::time_max : t.remembered[first].since + t.rules.settled_retention;
}

}  // namespace

void remember(Tables& t, MessageRef ref) {
  const Message& message = t.messages.message(ref);
  t.remembered.add(t.agents[message.sender].name, {ref, t.now}, weight_of(t, message));
}

void recall(Tables& t, MessageRef ref) {
  uint32_t at = t.remembered.first_of(t.agents[t.messages.message(ref).sender].name);
  while (at != none && t.remembered[at].message != ref) {
    at = t.remembered.next_of_owner(at);
  }
  if (at != none) {
    t.remembered.remove(at);
  }
}

Time old_messages_due(const Tables& t) {
  return remembers_too_many(t) ? t.now
                               : base::next_multiple(next_message_gone(t), base::minutes(1));
}

void forget_messages(Tables& t) {
  for (size_t n = 0; n < due_max; ++n) {
    const bool is_old = next_message_gone(t) <= t.now;
    if (!is_old && !remembers_too_many(t)) {
      return;
    }
    const uint32_t at = is_old ? t.remembered.first() : t.remembered.first_of_most();
    const MessageRef ref = t.remembered[at].message;
    t.remembered.remove(at);
    forget_message(t, ref);
  }
}

}  // namespace parley::core
