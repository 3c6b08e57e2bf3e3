// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/delivery/dispatch.h"

namespace parley::core {

// Ends leases and delays that are over, and messages that have waited too long, at most `due_max`;
// and when that is due.
void advance_deliveries(Dispatch& dispatch);
Time deliveries_due(const Tables& t);

// What a node whose life is over kept in memory only is over too. What is handed out may still be
// acknowledged.
void end_broadcasts(Dispatch& dispatch, uint64_t life);

}  // namespace parley::core
