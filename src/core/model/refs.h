// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace parley::core {

// Slots in the tables of a workspace (core/state/slots.h); `none` is no slot. They are the same on no
// two nodes: whatever is written names a row by its key.
using MessageRef = uint32_t;
using DeliveryRef = uint32_t;
using AgentRef = uint32_t;
using TopicRef = uint32_t;
using StreamRef = uint32_t;
using ThreadRef = uint32_t;

}  // namespace parley::core
