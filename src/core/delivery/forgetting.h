// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/delivery/dispatch.h"

namespace parley::core {

// Drops what is remembered of settled messages beyond its time or number, at most `due_max`; and
// when that is due: at whole minutes, or at once while there are too many.
void forget_messages(Tables& t);
Time old_messages_due(const Tables& t);

}  // namespace parley::core
