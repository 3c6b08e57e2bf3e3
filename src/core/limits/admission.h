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

// What the broker tells so many others because an agent asked for something, whether they want it
// or not, is limited as what the agent sends: its notices, its fan-out, what it calls critical.
Checked check_notices(const ConstContext& context, uint64_t told);
void count_notices(Context& context, uint64_t told);
Checked check_caused(const ConstContext& context, Priority priority, uint64_t told);
void count_caused(Context& context, Priority priority, uint64_t told);

// Whether the command asks that something be kept: a message, a session, a registration, a lock.
// All others settle: they end or free something, or take next to nothing.
bool asks_to_keep(const Command& command);

// About what the command takes in the journal: its texts, and as much as the rest of it needs.
uint64_t stored_bytes(const Command& command);

// Refuses what would have the broker keep more, while the agent has had it write down too much in
// this minute or on this day; `ahead` are bytes that will be written before. What settles may go on
// beyond it by a quarter and one message.
Checked check_written(const ConstContext& context, uint64_t ahead = 0);
// Books what the entry has, whatever becomes of it: it is in the journal.
void count_written(Context& context);

Checked check(const ConstContext& context, const ResetLimits& command);
Outcome on(Context& context, const ResetLimits& command);

}  // namespace parley::core
