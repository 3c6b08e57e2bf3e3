// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>

#include "core/machine/context.h"
#include "core/machine/send.h"

namespace parley::core {

// What a sender may not exceed: rates, the circuit breaker of its receiver, its budget, its
// fan-out, ping-pong. The last thing that can refuse a message. Fills in what the plan counts.
std::expected<void, Error> check_limits(const ConstContext& context, const Envelope& e,
                                        SendPlan& plan);

// What was not refused counts.
void count_sent(const Context& context, const Send& command, const SendPlan& plan);

Checked check(const ConstContext& context, const ResetLimits& command);
Outcome on(Context& context, const ResetLimits& command);

}  // namespace parley::core
