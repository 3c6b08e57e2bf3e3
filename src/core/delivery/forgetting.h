// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/delivery/dispatch.h"

namespace parley::core {

// Drops what is remembered of settled messages beyond its time or number.
void forget_messages(Tables& t);

}  // namespace parley::core
