// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/model/fields.h"

namespace parley::core {

// What is asked about topics.

struct Subscribe {
  std::string_view topic;
  std::string_view agent{};  // empty: the one who asks

  static constexpr std::string_view verb = "subscribe";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("topic", self.topic);
    field("agent", self.agent, Form::agent);
  }
  bool operator==(const Subscribe&) const = default;
};

struct Unsubscribe {
  std::string_view topic;
  std::string_view agent{};

  static constexpr std::string_view verb = "unsubscribe";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("topic", self.topic);
    field("agent", self.agent, Form::agent);
  }
  bool operator==(const Unsubscribe&) const = default;
};

}  // namespace parley::core
