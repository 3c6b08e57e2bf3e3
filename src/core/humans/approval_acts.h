// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/context.h"

namespace parley::core {

// Whether the principal may decide: it is named, or nobody is and it has the right to approve, as
// an admin has. Who asked never decides.
bool may_decide(const Tables& tables, AgentRef principal, const Approval& approval);

Checked check(const ConstContext& context, const AskApproval& command);
Checked check(const ConstContext& context, const DecideApproval& command);
Outcome on(Context& context, const AskApproval& command);
Outcome on(Context& context, const DecideApproval& command);

// Whether another approval of the actor's can be pending.
Checked check_room(const ConstContext& context);
// People are asked; the approval has all but its times.
void begin_approval(Context& context, Approval approval);

// Reminds those who may decide, and ends what nobody decided in time: silence approves nothing.
void advance_approvals(Dispatch& dispatch);
Time approvals_due(const Tables& tables);

// The one who asked is gone, so its questions are withdrawn.
void leave_approvals(Dispatch& dispatch, std::string_view name);

}  // namespace parley::core
