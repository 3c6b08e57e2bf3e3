// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/state/slots.h"

namespace parley::core {

// The slot of a row in its table; `none`: there is no such row. It is good until the row is
// removed, and never written: a snapshot knows no slots.
using MessageRef = uint32_t;
using DeliveryRef = uint32_t;
using AgentRef = uint32_t;
using TopicRef = uint32_t;
using StreamRef = uint32_t;
using ThreadRef = uint32_t;

}  // namespace parley::core
