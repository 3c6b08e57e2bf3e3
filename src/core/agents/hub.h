// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <expected>

#include "core/machine/context.h"

namespace parley::core {

struct Route;

// Who writes to whom in a dialect whose agents talk by way of a hub (`Policy::via_hub`, SP-02): its
// orchestrators write to all, its other agents to an orchestrator. The rules bind agents; people
// and the broker are above them. An agent of another dialect counts as an orchestrator, unless its
// role directs no one.

// Whether what the sender says may reach this receiver.
bool may_write_to(const Tables& tables, AgentRef sender, AgentRef receiver);

// Refuses a message that would reach one whom its sender may not write to.
Checked check_hub(const ConstContext& context, const Send& command, const Route& route);

// By which codes violations of the protocol are counted (SP-14); no other refusal is one.
// docs/reference/hub.md says which refusals count as which, and which do not.
inline constexpr auto violation_codes = std::to_array<base::Code>(
    {// It would reach another worker, or its answers would.
     base::Code::not_via_orchestrator,
     // Whatever the answer is: it is no message of the dialect, and left a dead letter `malformed`.
     base::Code::validation_failed});

// Whether the refusal is a violation of the protocol (SP-14) that is counted, of which there are
// not too many: then it is not refused at the door, where nothing is written.
bool is_counted_violation(const ConstContext& context, const Error& refusal);

// Counts it by its code. Those who maintain the workspace are told at once, and at most once in a
// minute: of what is counted meanwhile when that is over, all in one.
void note_violation(Context& context, const Error& refusal);
// The same of what left a dead letter `malformed`: a violation of the protocol where that has a
// hub.
void note_malformed(Context& context, std::string_view error);

// Tells what was counted since the maintainers were told, where the minute is over.
void advance_violations(Dispatch& dispatch);
Time violations_due(const Tables& tables);
// The principal is gone: what is not told yet is told now.
void leave_violations(Dispatch& dispatch, std::string_view name);

}  // namespace parley::core
