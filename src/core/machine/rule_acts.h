// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/context.h"

namespace parley::core {

Checked check(const ConstContext& context, const SetRules& command);
Outcome on(Context& context, const SetRules& command);

}  // namespace parley::core
