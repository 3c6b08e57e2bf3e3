// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string_view>

#include "core/delivery/dispatch.h"

namespace parley::core {

// What happens to scatter-gathers. One ends when enough of its members have answered, when so many
// cannot answer any more that waiting is no use, or with its window. Its owner is told then, and
// what comes later is marked as late.

// Why the scatter-gather that the command asks for cannot begin.
std::expected<void, Error> check_gather(const Tables& t, const Send& command);
// The request to its members was accepted.
void begin_gather(Dispatch& dispatch, const Send& command, MessageRef message);

// `by` answered with the message at `response`. Only its first answer counts.
void gather_answered(Dispatch& dispatch, Gather& gather, AgentRef by, Seq response, Status status);
// Deliveries of the request have ended: whom it did not reach cannot answer.
void gather_delivery_ended(Dispatch& dispatch, Gather& gather, MessageRef message);
// Its window is over; or it ended long ago, and is forgotten.
void gather_due(Dispatch& dispatch, Gather& gather);

// No one waits for what this owner has asked.
void end_gathers_of(Dispatch& dispatch, std::string_view owner);

}  // namespace parley::core
