// SPDX-License-Identifier: Apache-2.0
// What the circuit breaker of a receiver counts as a failure.
#include "core/limits/breaker_acts.h"

#include "core/requests/answers.h"

namespace parley::core {

namespace {

using base::Code;

}  // namespace

void note_failure(Tables& t, AgentRef receiver) {
  t.agents[receiver].breaker.failed(t.now, t.rules.breaker_failures);
}

// Only what one receiver was asked, had in its hands and had time for says anything of it.
void note_unanswered(Tables& t, MessageRef request, Duration timeout) {
  const AgentRef asked = asked_alone(t, request);
  if (asked == none || timeout < answer_time_min) {
    return;
  }
  const Delivery& delivery = t.messages.delivery(t.messages.delivery_to(request, asked));
  if (delivery.state != State::answered && delivery.attempts > 0 &&
      t.agents[delivery.receiver].is_registered()) {
    note_failure(t, delivery.receiver);
  }
}

}  // namespace parley::core
