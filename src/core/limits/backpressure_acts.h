// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/delivery/dispatch.h"

namespace parley::core {

// How much of a limit is used when its sender is told: as the time of the bucket.
Duration signal_mark(const Tables& t);

// The message is delivered: tells its sender when it is near or beyond its limits, and later that
// it is no more. `relief` is when the limits that it used fall below the mark.
void signal_backpressure(Dispatch& dispatch, MessageRef message, Time relief);
// A message of the sender was refused because too many wait.
void signal_overload(Dispatch& dispatch, AgentRef sender);

// Nothing of the sender's waits for its limits any more: it may go on.
void relieve(Dispatch& dispatch, AgentRef sender);
// The same for all whose time has come, at most `due_max`; and when that is due.
void relieve_all(Dispatch& dispatch);
Time relief_due(const Tables& t);
// The same for those of whom the last message that waited for its limits went its way.
void relieve_drained(Dispatch& dispatch);
// The sender is removed: it is not told any more.
void forget_relief(Tables& t, AgentRef sender);

}  // namespace parley::core
