// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/tables.h"

namespace parley::core {

// How a circuit breaker knows a sender.
uint64_t breaker_key(const Agent& sender);

// The receiver failed with a message of that sender.
void note_failure(Tables& t, AgentRef receiver, AgentRef sender);

// One more message is on its way to the receiver: opens its circuit breaker when the inbox is
// nearly full (breaker.queue_percent).
void note_load(Tables& t, AgentRef receiver);

// No one waits for an answer any more: the circuit breaker of the one who owes it counts that.
void note_unanswered(Tables& t, MessageRef request, Duration timeout);

}  // namespace parley::core
