// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace parley::core {

// Slots in the tables of a workspace (core/state/slots.h); `none` is no slot. Two nodes need not
// have the same: whatever is written names a row by its key.
using MessageRef = uint32_t;
using DeliveryRef = uint32_t;
using AgentRef = uint32_t;
using TopicRef = uint32_t;
using StreamRef = uint32_t;
using ThreadRef = uint32_t;

}  // namespace parley::core
