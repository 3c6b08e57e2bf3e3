// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>

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

// A stream of the agent gets a delivery again: books it.
void charge_redelivery(Tables& t, AgentRef agent);
// Refuses while the streams of the agent have got too many again: it opens no more of them. Without
// it who opens and closes one in a loop could have the broker do, and write down, any amount.
std::expected<void, base::Error> check_redeliveries(const Tables& t, AgentRef agent, Time now);

// The limits have changed: all begin anew, and what waits, which was sent before `now`, is booked
// again in the order sent. There may be very much of it: time does the rest.
void restart_rate_limits(Dispatch& dispatch, Seq now);
void advance_rebooking(Dispatch& dispatch);
Time rebooking_due(const Tables& t);

}  // namespace parley::core
