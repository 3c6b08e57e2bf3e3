// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/model/envelope.h"
#include "core/state/slots.h"

namespace parley::core {

// How hard a sender presses on its limits. Written into snapshots: never renumber.
enum class BackpressureLevel : uint8_t {
  eased = 0,       // said as `recovering`
  throttled = 1,   // most of a limit is used
  overloaded = 2,  // most of what may wait does
};
constexpr BackpressureLevel backpressure_last = BackpressureLevel::overloaded;

// `recovering`, `throttled`, `overloaded`: the words of the signal.
std::string_view backpressure_name(BackpressureLevel level);

// What one sender was told of it.
struct Backpressure {
  BackpressureLevel level = BackpressureLevel::eased;
  uint64_t depth = 0;          // of its queue, as it was told last
  Time until{};                // then none of its limits is used beyond the mark
  std::array<Time, 3> told{};  // by level, when last

  static void fields(auto& self, auto& field) {
    field("level", self.level, backpressure_last);
    field("depth", self.depth);
    field("until", self.until);
    field("told", self.told);
  }
};

}  // namespace parley::core
