// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/delivery/dispatch.h"

namespace parley::core {

// Books the message with the limits that count it once. Call it for each send, before it is
// delivered.
Passage enter_limits(Tables& t, MessageRef ref);

// Books it with the limits of one receiver. True when it must wait for one of them.
bool throttle(Tables& t, DeliveryRef ref, Passage& passage);

// A limit that held the delivery up lets it go on: to the next gate, or into the inbox.
void pass_gate(Dispatch& dispatch, DeliveryRef ref);

// How long the message waits for limits, or for the pause before a new try, as far as is known now:
// with the slowest receiver.
Duration delay_of(const Tables& t, MessageRef ref);

// The limits have changed: all begin anew, and what waits is booked again in the order sent.
void restart_rate_limits(Dispatch& dispatch);

}  // namespace parley::core
