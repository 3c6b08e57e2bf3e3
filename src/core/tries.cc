// SPDX-License-Identifier: Apache-2.0
// What a receiver cannot take when it is sent: because it is away and the message must not wait for
// it, or because its inbox is full. A collab sender's message is tried again after its own pauses;
// only then it has failed. Until then its sender hears nothing but that it was accepted.
#include "core/dispatch.h"
#include "core/presence.h"

namespace parley::core {

// What is tried again has a limit of its own, as large as the inbox.
bool Dispatch::is_tried_again(const Tables& t, Dialect sender, AgentRef receiver) {
  return sender == Dialect::collab && t.messages.tried_for(receiver) < t.rules.queue_max &&
         retry_pause(t.rules, sender, false, 0).has_value();
}

void Dispatch::fail_or_try(DeliveryRef ref, Gate gate, Reason reason) {
  Delivery& delivery = t_.messages.delivery(ref);
  const Message& message = t_.messages.message(delivery.message);
  const AgentRef receiver = delivery.receiver;
  const bool is_new = delivery.gate == Gate::open;
  const bool again =
      !message.to_many() && (!is_new || is_tried_again(message.dialect, receiver));
  const auto pause = again ? retry_pause(t_.rules, message.dialect, false, delivery.revivals)
                           : std::nullopt;
  if (pause) {
    t_.messages.throttle(ref, gate, t_.now + *pause);
    if (is_new) {
      delivery.state = State::delayed;
      line_up(ref);
    }
    return;
  }
  std::string why = reason == Reason::queue_overflow ? "the inbox is full"
                                                     : presence::why_away(t_.agents[receiver]);
  if (!is_new) {
    why += ", tried " + std::to_string(delivery.revivals + 1) + " times";
    leave(ref);
  }
  entomb(ref, reason, why);
}

void Dispatch::try_delivery(DeliveryRef ref) {
  Delivery& delivery = t_.messages.delivery(ref);
  const AgentRef receiver = delivery.receiver;
  Agent& agent = t_.agents[receiver];
  const Gate gate = delivery.gate;
  ++delivery.revivals;
  if (gate == Gate::presence && !agent.is_available()) {
    fail_or_try(ref, gate, Reason::receiver_unavailable);
  } else if (t_.load_of(receiver) >= t_.rules.queue_max) {
    fail_or_try(ref, gate, Reason::queue_overflow);
  } else {
    agent.inbox.end_delay(t_.messages, agent.discipline(), ref);
    pump(receiver);
  }
}

}  // namespace parley::core
