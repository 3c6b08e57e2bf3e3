// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>

#include "core/machine/context.h"
#include "core/machine/send.h"

namespace parley::core {

// What a sender may not exceed: rates, the circuit breaker of its receiver, its budget, its
// fan-out, ping-pong. The last check of `plan_send`. Fills in what the plan counts.
std::expected<void, Error> check_limits(const ConstContext& context, const Envelope& e,
                                        SendPlan& plan);

// Books an accepted message: budget, fan-out, circuit breaker, exchanges.
void count_sent(Context& context, const Send& command, const SendPlan& plan);

Checked check(const ConstContext& context, const ResetLimits& command);
Outcome on(Context& context, const ResetLimits& command);

}  // namespace parley::core
