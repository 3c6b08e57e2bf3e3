// SPDX-License-Identifier: Apache-2.0
// What the circuit breaker of a receiver counts as a failure.
#include "core/limits/breaker_acts.h"

#include "core/requests/answers.h"

namespace parley::core {

uint64_t breaker_key(const Agent& sender) { return Exchanges::name_of(sender.name); }

void note_failure(Tables& t, AgentRef receiver, AgentRef sender) {
  t.agents[receiver].breaker.failed(t.now, t.rules.breaker_failures,
                                    breaker_key(t.agents[sender]));
}

void note_load(Tables& t, AgentRef receiver) {
  if (t.load_of(receiver) * 100 >= t.rules.queue_max * t.rules.breaker_queue &&
      t.rules.breaker_queue > 0 && t.agents[receiver].is_registered()) {
    t.agents[receiver].breaker.filled(t.now);
  }
}

// Only what one receiver was asked, had in its hands and had time for says anything of it.
void note_unanswered(Tables& t, MessageRef request, Duration timeout) {
  const AgentRef asked = asked_alone(t, request);
  if (asked == none || timeout < t.rules.answer_time_min) {
    return;
  }
  const Delivery& delivery = t.messages.delivery(t.messages.delivery_to(request, asked));
  if (delivery.state != State::answered && delivery.attempts > 0 &&
      t.agents[delivery.receiver].is_registered()) {
    note_failure(t, delivery.receiver, t.messages.message(request).sender);
  }
}

}  // namespace parley::core
