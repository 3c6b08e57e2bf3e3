// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>

#include "core/machine/context.h"

namespace parley::core {

// Asks the humans to look at it, and says so to those who answer for the workspace.
uint64_t escalate(Dispatch& dispatch, Escalation escalation);

Checked check(const ConstContext& context, const ResolveEscalation& command);
Outcome on(Context& context, const ResolveEscalation& command);

}  // namespace parley::core
