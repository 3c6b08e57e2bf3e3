// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/model/model.h"

namespace parley::sim {

// Checks that a sender that is held up or refused for its rate has been told so, not too often, and
// is told when it is over.
class BackpressureChecks {
 public:
  explicit BackpressureChecks(Model& model) : model_(model) {}

  // After all effects.
  void check(const Step& step);

 private:
  void on_signal(const Step& step, const std::string& sender, const core::OutboxItem& item);

  Model& model_;
};

}  // namespace parley::sim
