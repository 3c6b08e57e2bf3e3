// SPDX-License-Identifier: Apache-2.0
// What a receiver cannot take when it is sent: because it is away and the message must not wait for
// it, or because its inbox is full. Where the sender's dialect has it so, it is tried again after
// pauses; only then it has failed. Until then its sender hears nothing but that it was accepted.
#include "core/delivery/redelivery.h"

#include <algorithm>
#include <set>
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

// The oldest of the sender's that the receiver can take.
DeliveryRef next_to_take(const Tables& t, AgentRef receiver, AgentRef sender) {
  const Gates& gates = t.messages.gates;
  const DeliveryRef full = gates.first_tried(receiver, sender, Gate::room);
  const DeliveryRef away = presence::is_available_to(t, receiver, sender)
                               ? gates.first_tried(receiver, sender, Gate::presence)
                               : none;
  if (full == none || away == none) {
    return full == none ? away : full;
  }
  return t.messages.message_of(full).seq < t.messages.message_of(away).seq ? full : away;
}

}  // namespace

// Each sender's keep their order: where one finds no room, its later ones do not go in before it.
bool retry_all(Tables& t, AgentRef receiver) {
  if (t.messages.gates.outside_of(receiver) == 0 || t.load_of(receiver) >= t.rules.queue_max) {
    return false;
  }
  std::vector<DeliveryRef> found = t.messages.gates.tried_of(receiver);
  std::erase_if(found, [&](DeliveryRef ref) { return !can_take(t, t.messages.delivery(ref)); });
  std::ranges::sort(found, {}, [&](DeliveryRef ref) { return t.messages.message_of(ref).seq; });
  bool taken = false;
  std::set<AgentRef> waiting;
  for (const DeliveryRef ref : found) {
    const AgentRef sender = t.messages.message_of(ref).sender;
    if (waiting.contains(sender) || !t.has_room(receiver, sender)) {
      waiting.insert(sender);
      continue;
    }
    take_in(t, ref);
    taken = true;
  }
  return taken;
}

bool retry_before(Tables& t, AgentRef receiver, MessageRef newer) {
  const Message& message = t.messages.message(newer);
  bool taken = false;
  while (t.messages.gates.outside_of(receiver) > 0 && t.has_room(receiver, message.sender)) {
    const DeliveryRef next = next_to_take(t, receiver, message.sender);
    if (next == none || t.messages.message_of(next).seq >= message.seq) {
      break;
    }
    take_in(t, next);
    taken = true;
  }
  return taken;
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
  if (can && t.has_room(receiver, t.messages.message_of(ref).sender)) {
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
