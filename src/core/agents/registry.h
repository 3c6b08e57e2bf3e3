// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/context.h"

namespace parley::core {

Checked check(const ConstContext& context, const Register& command);
Checked check(const ConstContext& context, const Unregister& command);

Outcome on(Context& context, const Register& command);
Outcome on(Context& context, const Unregister& command);
Outcome on(Context& context, const Heartbeat& command);

}  // namespace parley::core
