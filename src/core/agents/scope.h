// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parley::core {

// What was approved beforehand for an agent that may do nothing else: to whom it may write, by name
// or with a wildcard, and what, a bit for each Kind.
struct Scope {
  std::vector<std::string> receivers;
  uint64_t kinds = 0;

  bool operator==(const Scope&) const = default;
  static void fields(auto& self, auto& field) {
    field("receivers", self.receivers);
    field("kinds", self.kinds);
  }
};

}  // namespace parley::core
