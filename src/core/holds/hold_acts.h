// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/delivery/dispatch.h"

namespace parley::core {

// Holds these messages back, which are not done with: what waits of them leaves the inboxes. What
// is handed out already stays with its receiver, and is held when it comes back. It costs a look at
// each of their deliveries.
void hold_messages(Dispatch& dispatch, std::span<const Seq> messages, const Hold& hold);

// Takes this hold from them. What waits of those that nothing else holds is in line again, in its
// old place, and is handed out where there is room.
void release_messages(Dispatch& dispatch, std::span<const Seq> messages, const Hold& hold);

}  // namespace parley::core
