// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include "core/machine/context.h"

namespace parley::core {

// Keeps the letter, says so, and plans when it is looked at next. Returns its number.
uint64_t store_dead_letter(Dispatch& dispatch, DeadLetter letter);
// Its sender will hear of it.
void tell_of_dead_letter(Dispatch& dispatch, uint64_t id);

// Whether a message may leave so many dead letters at once, to names that nobody has: open ones of
// its sender fill no more than its share of the table.
Checked check_letter_share(const ConstContext& context, size_t count);

// A dead letter of what the agent sent at `seq` and what is no message; of one with more bytes
// than are kept only the letter. False, and nothing is kept, when it sent too many of them within
// a minute, or its open letters fill its share.
bool dead_letter_malformed(Dispatch& dispatch, AgentRef sender, Seq seq, size_t bytes,
                           std::string_view error);
bool keeps_malformed(const Tables& t, AgentRef sender, Time now);

// A resolved or dropped dead letter needs its message no more.
void release_dead_letter(Dispatch& dispatch, const DeadLetter& letter);
Checked check(const ConstContext& context, const ResolveDeadLetter& command);

// Delivers it once more: to its receiver, or to the one who stands in for that.
Outcome retry_dead_letter(Context& context, DeadLetter& letter, AgentRef stand_in = none);

Checked check(const ConstContext& context, const Malformed& command);
Outcome on(Context& context, const Malformed& command);
Outcome on(Context& context, const ResolveDeadLetter& command);

}  // namespace parley::core
