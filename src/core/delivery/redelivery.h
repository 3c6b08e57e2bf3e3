// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/machine/tables.h"

namespace parley::core {

// What a receiver could not take waits outside of its inbox for the next try, where its sender's
// dialect has it so. It is tried before its time where it can be taken and something newer would
// overtake it. `retry_all` and `retry_before` say whether something went in: then the inbox is to
// be pumped.

// The receiver is back, or may be: all that it can take goes in, the oldest first.
bool retry_all(Tables& t, AgentRef receiver);

// `newer` is about to go in: first goes what the receiver can take of the same sender's before it.
bool retry_before(Tables& t, AgentRef receiver, MessageRef newer);

// Whether what a sender of this dialect sends by name, and this receiver cannot take now, is tried
// again.
bool will_be_retried(const Tables& t, Dialect sender, AgentRef receiver);

}  // namespace parley::core
