// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/delivery/routing.h"

namespace parley::core {

// Changes the route where named receivers are away and the message does not wait for them, as its
// sender or its dialect has it: another stands in for them, or they are listed as absent. Leaves an
// answer alone, which goes to who asked and to no one else.
void redirect_absent(const ConstContext& context, const Send& command, Route& route);

// The message was sent before, and refused because its receiver was away. If that one is back, or
// the sender now asks for another treatment, the message is delivered. Otherwise the sender gets
// the same refusal again.
Outcome repeat_refused(Context& context, const Send& command, MessageRef ref);

}  // namespace parley::core
