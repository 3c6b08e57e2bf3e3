// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/tables.h"

// What a receiver could not take is tried before its time where it can be taken and something newer
// would overtake it. Both say whether something went in; then the inbox is to be pumped.
namespace parley::core {

// The receiver is back, or may be: all that it can take goes in, the oldest first.
bool try_all(Tables& t, AgentRef receiver);

// `newer` is about to go in: first goes what the receiver can take of the same sender's before it.
bool try_before(Tables& t, AgentRef receiver, MessageRef newer);

// Whether what a sender of this dialect sends by name, and this receiver cannot take now, is tried
// again.
bool is_tried_again(const Tables& t, Dialect sender, AgentRef receiver);

}  // namespace parley::core
