// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sim/model/model.h"

namespace parley::sim {

// Who has which right, as it was given by those who may give it.
class Rights {
 public:
  explicit Rights(const Model& model) : model_(model) {}

  // Whether the principal was given the right, `moderator` for example.
  bool has(std::string_view name, std::string_view right) const {
    return given_.contains({std::string(name), std::string(right)});
  }
  bool is_admin(std::string_view name) const;

  // After who is registered is learned.
  void learn(const Step& step);

 private:
  void forget(std::string_view name);

  const Model& model_;
  std::set<std::pair<std::string, std::string>> given_;  // The name and the right.
};

}  // namespace parley::sim
