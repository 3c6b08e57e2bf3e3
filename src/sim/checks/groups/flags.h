// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sim/model/model.h"

namespace parley::sim {

// Checks what is for moderators alone: a flag that was accepted is there until one of them resolves
// it, nobody else does, and no notice is about it.
class FlagChecks {
 public:
  explicit FlagChecks(Model& model) : model_(model) {}

  // After all effects, and after who is registered is learned.
  void check(const Step& step);

 private:
  void learn_rights(const Step& step);

  Model& model_;
  std::set<std::string> moderators_;
  std::map<Seq, std::string> open_;  // By record: who raised it.
};

}  // namespace parley::sim
