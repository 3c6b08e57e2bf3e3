// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/delivery/dispatch.h"

namespace parley::core {

// A message that asks nothing, and whose sender wants to know who acknowledges it (requires_ack).
// Sent to a topic or to everyone it is a roll call: after a window its sender is told who answered,
// who was silent and who was not there. Sent to some by name, its sender is told when all of them
// have acknowledged it, or that they have not in time. Each sender is told once.

void begin_roll_call(Dispatch& dispatch, MessageRef message);
// The window is over, or none of the deliveries is open any more. Ends it.
void report_roll_call(Dispatch& dispatch, MessageRef message);

void begin_acknowledgements(Dispatch& dispatch, const Envelope& e, MessageRef message);
// `in_time`: none of the deliveries is open any more; else the time is over. Ends it.
void report_acknowledgements(Dispatch& dispatch, MessageRef message, bool in_time);

}  // namespace parley::core
