// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/context.h"

namespace parley::core {

Checked check(const ConstContext& context, const Read& command);
Checked check(const ConstContext& context, const Ack& command);
Checked check(const ConstContext& context, const Nack& command);
Checked check(const ConstContext& context, const Reject& command);
Checked check(const ConstContext& context, const Extend& command);

Outcome on(Context& context, const Read& command);
Outcome on(Context& context, const Take& command);
Outcome on(Context& context, const Ack& command);
Outcome on(Context& context, const Nack& command);
Outcome on(Context& context, const Reject& command);
Outcome on(Context& context, const Extend& command);

}  // namespace parley::core
