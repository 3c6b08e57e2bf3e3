// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/checks/groups/rights.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks what is for moderators alone: a flag that was accepted is there until one of them resolves
// it, nobody else does, and no notice is about it.
class FlagChecks {
 public:
  explicit FlagChecks(Model& model) : model_(model), rights_(model) {}

  // After all effects, and after who is registered is learned.
  void check(const Step& step);

 private:
  Model& model_;
  Rights rights_;
  std::map<Seq, std::string> open_;  // By record: who raised it.
};

}  // namespace parley::sim
