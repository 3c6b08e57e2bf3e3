// SPDX-License-Identifier: Apache-2.0
// What a receiver cannot take when it is sent: because it is away and the message must not wait for
// it, or because its inbox is full. Where the sender's dialect has it so, it is tried again after
// pauses; only then it has failed. Until then its sender hears nothing but that it was accepted.
#include "core/delivery/redelivery.h"

#include <algorithm>
#include <vector>

#include "core/agents/presence.h"

namespace parley::core {

namespace {

void take_in(Tables& t, DeliveryRef ref) {
  Agent& agent = t.agents[t.messages.delivery(ref).receiver];
  ++t.messages.delivery(ref).revivals;
  agent.inbox.end_delay(t.messages, agent.discipline(), ref);
}

bool can_take(const Tables& t, const Delivery& delivery) {
  return delivery.gate != Gate::presence ||
         presence::is_available_to(t, delivery.receiver,
                                   t.messages.message(delivery.message).sender);
}

// Those to the receiver that it can take, for which there is room; of all senders where that is
// none.
bool take_in_all(Tables& t, AgentRef receiver, AgentRef sender, Seq before) {
  if (t.messages.gates.outside_of(receiver) == 0) {
    return false;
  }
  std::vector<DeliveryRef> found;
  t.messages.open.each_to(receiver, [&](DeliveryRef ref, const Delivery& delivery) {
    const Message& message = t.messages.message(delivery.message);
    if (is_tried(delivery.gate) && can_take(t, delivery) && message.seq < before &&
        (sender == none || message.sender == sender)) {
      found.push_back(ref);
    }
  });
  std::ranges::sort(found, {}, [&](DeliveryRef ref) { return t.messages.message_of(ref).seq; });
  size_t taken = 0;
  while (taken < found.size() && t.load_of(receiver) < t.rules.queue_max) {
    take_in(t, found[taken++]);
  }
  return taken > 0;
}

}  // namespace

bool retry_all(Tables& t, AgentRef receiver) {
  return take_in_all(t, receiver, none, Seq{UINT64_MAX});
}

bool retry_before(Tables& t, AgentRef receiver, MessageRef newer) {
  const Message& message = t.messages.message(newer);
  return take_in_all(t, receiver, message.sender, message.seq);
}

// What is tried again has a limit of its own, as large as the inbox. The mail of a former agent of
// the name counts there until it is a dead letter.
bool will_be_retried(const Tables& t, Dialect sender, AgentRef receiver) {
  return policy_of(sender).retries_delivery &&
         t.messages.gates.outside_of(receiver) < t.rules.queue_max &&
         retry_pause(t.rules, sender, false, 0).has_value();
}

void Dispatch::fail_or_retry(DeliveryRef ref, Gate gate, Reason reason) {
  Delivery& delivery = t.messages.delivery(ref);
  const Message& message = t.messages.message(delivery.message);
  const AgentRef receiver = delivery.receiver;
  const bool is_new = delivery.gate == Gate::open;
  const bool again =
      !message.to_many() && (!is_new || will_be_retried(t, message.dialect, receiver));
  const auto pause =
      again ? retry_pause(t.rules, message.dialect, false, delivery.revivals) : std::nullopt;
  if (pause) {
    t.messages.gates.hold_up(ref, gate, t.now + *pause);
    if (is_new) {
      set_state(ref, State::delayed);
      line_up(ref);
    }
    return;
  }
  std::string why = reason == Reason::queue_overflow ? "the inbox is full"
                                                     : presence::why_away(t.agents[receiver]);
  if (!is_new) {
    why += ", tried " + std::to_string(delivery.revivals + 1) + " times";
    leave(ref);
  }
  add_dead_letter(ref, reason, why);
}

void Dispatch::retry(DeliveryRef ref) {
  const AgentRef receiver = t.messages.delivery(ref).receiver;
  const bool can = can_take(t, t.messages.delivery(ref));
  const bool others = can && retry_before(t, receiver, t.messages.delivery(ref).message);
  if (can && t.load_of(receiver) < t.rules.queue_max) {
    take_in(t, ref);
    pump(receiver);
    return;
  }
  ++t.messages.delivery(ref).revivals;
  fail_or_retry(ref, t.messages.delivery(ref).gate,
                can ? Reason::queue_overflow : Reason::receiver_unavailable);
  if (others) {
    pump(receiver);
  }
}

}  // namespace parley::core
