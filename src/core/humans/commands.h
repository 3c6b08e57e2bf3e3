// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace parley::core {

// What a person asks who answers for agents.

// A person says what was decided on what the agents could not settle.
struct ResolveEscalation {
  uint64_t id = 0;
  std::string_view resolution;

  static constexpr std::string_view verb = "resolve escalation";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("resolution", self.resolution);
  }
  bool operator==(const ResolveEscalation&) const = default;
};

}  // namespace parley::core
