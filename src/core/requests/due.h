// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/delivery/dispatch.h"

namespace parley::core {

// Ends what waited for its time, at most `due_max`, and draws the conclusions from the deliveries
// that ended before and by it; and when that is due.
void advance_requests(Dispatch& dispatch);
Time requests_due(const Tables& t);

}  // namespace parley::core
