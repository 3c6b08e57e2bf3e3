// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <variant>

#include "core/agents/commands.h"
#include "core/conversation/commands.h"
#include "core/dead_letters/commands.h"
#include "core/delivery/commands.h"
#include "core/delivery/stream_commands.h"
#include "core/handoffs/commands.h"
#include "core/humans/commands.h"
#include "core/limits/commands.h"
#include "core/machine/commands.h"
#include "core/moderation/commands.h"
#include "core/requests/commands.h"
#include "core/topics/commands.h"

namespace parley::core {

// What can be asked of the broker: a closed set. A command stands in its room, `commands.h`, and
// says all that others must know of it: its verb, by which it is described; whether its outcome may
// be told only after a sync; its fields (core/model/fields.h). Texts are views, as in Envelope. The
// principal who asks is in the Entry.
//
// The position in this list is the tag in the journal: append only, never reorder.
using Command = std::variant<Tick, StartNode, AddWorkspace, SetRules, Register, Unregister,
                             Subscribe, Unsubscribe, Send, Read, Take, Ack, Nack, Reject, Extend,
                             OpenStream, CloseStream, ResolveDeadLetter, Heartbeat, Malformed,
                             ResolveEscalation, CloseThread, ResetLimits, StopWaiting, StartSession,
                             ChangeSession, TakeLock, ReleaseLock, ReassignTask, RaiseFlag,
                             ResolveFlag, AskApproval, DecideApproval, MarkAgentSession>;

// `send`, `open stream`, …: by which it is described.
constexpr std::string_view verb_of(const Command& command) {
  return std::visit([]<class Each>(const Each&) { return Each::verb; }, command);
}

}  // namespace parley::core
