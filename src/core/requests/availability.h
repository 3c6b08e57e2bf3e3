// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/send.h"

namespace parley::core {

// Finds those of the named receivers who are away, and who stands in for them.
void check_availability(const ConstContext& context, const Send& command, Route& route);

// The message was sent before, and refused because its receiver was away.
Outcome repeat_refused(Context& context, const Send& command, MessageRef ref);

}  // namespace parley::core
