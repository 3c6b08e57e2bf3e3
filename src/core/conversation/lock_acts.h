// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/machine/context.h"

namespace parley::core {

Checked check(const ConstContext& context, const TakeLock& c);
Checked check(const ConstContext& context, const ReleaseLock& command);

// The principal is gone: its locks go to the next in line.
void leave_locks(Dispatch& dispatch, std::string_view name);
// Who waited for a lock by way of a node whose life is over waits no more.
void end_lock_waits(Tables& t, uint64_t life);
// Leases and waits that are over, in the order of their time: at most `due_max`; and when that is
// due.
void advance_locks(Dispatch& dispatch);
Time locks_due(const Tables& t);

Outcome on(Context& context, const TakeLock& command);
Outcome on(Context& context, const ReleaseLock& command);

}  // namespace parley::core
