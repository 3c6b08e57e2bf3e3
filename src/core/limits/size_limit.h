// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/agents/agent.h"
#include "core/messages/messages.h"
#include "core/model/rules.h"
#include "core/model/sizes.h"

namespace parley::core {

// Why the receiver cannot take a message of this size, which was sent in that dialect: it is larger
// than its own dialect allows. Empty: it can. What was sent in its own was measured where it was
// read.
std::string size_fault(const Rules& rules, const Agent& receiver, Dialect sent_in,
                       const MessageSizes& sizes);

// The same of one that is stored, without the receiver's name: its sender reads it, who must not
// learn who subscribes. The broker's own are short enough.
std::string size_fault(const Rules& rules, const Agent& receiver, const Message& message);

}  // namespace parley::core
