// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/context.h"

namespace parley::core {

// Who may say that an agent's session begins or ends: itself, and those who maintain the workspace.
Checked check(const ConstContext& context, const MarkAgentSession& command);
// At its end what it has not answered in debates is put before people; of an agent that is there
// for one session only, all that waits is done with, and its givers are told what was left undone.
Outcome on(Context& context, const MarkAgentSession& command);

}  // namespace parley::core
