// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/model/fields.h"

namespace parley::core {

// What is asked about limits.

// An admin lets a principal begin anew: its circuit breaker closes, what it used of its limits is
// forgotten.
struct ResetLimits {
  std::string_view name;

  static constexpr std::string_view verb = "reset limits";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) { field("name", self.name, Form::agent); }
  bool operator==(const ResetLimits&) const = default;
};

}  // namespace parley::core
