// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/model/fields.h"

namespace parley::core {

// An agent begins a session of work, or ends it (SQ-12). What it knows between two sessions is in
// its inbox alone.
struct MarkAgentSession {
  std::string_view agent;
  bool is_end = false;

  static constexpr std::string_view verb = "mark agent session";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("agent", self.agent, Form::agent);
    field("is_end", self.is_end);
  }
  bool operator==(const MarkAgentSession&) const = default;
};

}  // namespace parley::core
