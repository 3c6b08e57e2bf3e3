// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/fields.h"

namespace parley::core {

// What is asked about dead letters.

// What a person may do with a dead letter. Written into journals.
enum class Resolution : uint8_t { pending = 0, retried = 1, discarded = 2, escalated = 3 };
constexpr Resolution resolution_last = Resolution::escalated;

struct ResolveDeadLetter {
  uint64_t id = 0;
  Resolution resolution = Resolution::discarded;

  static constexpr std::string_view verb = "resolve dead letter";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("resolution", self.resolution, resolution_last);
  }
  bool operator==(const ResolveDeadLetter&) const = default;
};

// The actor sent what is no message of its dialect. Kept as a dead letter, few and short.
struct Malformed {
  std::string_view text;   // as it was sent: cut, and without secrets
  std::string_view error;  // what is wrong with it

  static constexpr std::string_view verb = "malformed message";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("text", self.text, Form::opaque);
    field("error", self.error);
  }
  bool operator==(const Malformed&) const = default;
};

}  // namespace parley::core
