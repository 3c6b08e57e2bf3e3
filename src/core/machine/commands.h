// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/model/envelope.h"
#include "core/model/fields.h"
#include "core/model/ids.h"

namespace parley::core {

// What is asked of the machine as a whole.

// Time passed.
struct Tick {
  static constexpr std::string_view verb = "tick";
  static constexpr bool needs_sync() { return false; }
  static void fields(auto&, auto&) {}
  bool operator==(const Tick&) const = default;
};

// A node began to run: the streams of its former life are gone.
struct StartNode {
  std::string_view node;

  static constexpr std::string_view verb = "start node";
  static constexpr bool needs_sync() { return false; }
  static void fields(auto& self, auto& field) { field("node", self.node); }
  bool operator==(const StartNode&) const = default;
};

struct AddWorkspace {
  std::string_view name;
  TokenHash admin_token{};

  static constexpr std::string_view verb = "add workspace";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("admin_token", self.admin_token, Form::secret);
  }
  bool operator==(const AddWorkspace&) const = default;
};

struct SetRules {
  std::vector<std::pair<std::string_view, std::string_view>> values;  // name and value, all or none

  static constexpr std::string_view verb = "set rules";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) { field("values", self.values); }
  bool operator==(const SetRules&) const = default;
};

}  // namespace parley::core
