// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/context.h"

namespace parley::core {

// Whether it has the right to approve, as an admin has.
bool may_approve(const Agent& agent);

// Whether the principal may decide: it has the right, and it is named or nobody is. Who asked never
// decides, nor does another one under the name of a former principal who was named.
bool may_decide(const Tables& tables, AgentRef principal, const Approval& approval);

Checked check(const ConstContext& context, const AskApproval& command);
Checked check(const ConstContext& context, const DecideApproval& command);
Outcome on(Context& context, const AskApproval& command);
Outcome on(Context& context, const DecideApproval& command);

// Whether this one of the actor's can be pending, too, and people be told of it.
Checked check_room(const ConstContext& context, const Approval& approval);
// People are asked; the approval has all but its number and its times.
void begin_approval(Context& context, Approval approval);

// Reminds those who may decide, and ends what nobody decided in time: silence approves nothing.
void advance_approvals(Dispatch& dispatch);
Time approvals_due(const Tables& tables);

// The principal is gone: its questions are withdrawn, its votes count no more. Where nobody is left
// who was named and may decide, those who answer for the workspace are told.
void leave_approvals(Dispatch& dispatch, std::string_view name);
// The same, of one who is still there and may approve nothing any more.
void lose_right_to_approve(Tables& tables, std::string_view name);

}  // namespace parley::core
