// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/context.h"

namespace parley::core {

// Whether the principal is a moderator. No other right stands for this one, not even an admin's.
bool is_moderator(const Tables& tables, AgentRef principal);

Checked check(const ConstContext& context, const RaiseFlag& command);
Checked check(const ConstContext& context, const ResolveFlag& command);

Outcome on(Context& context, const RaiseFlag& command);
Outcome on(Context& context, const ResolveFlag& command);

}  // namespace parley::core
