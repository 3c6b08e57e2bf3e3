// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/model/model.h"

namespace parley::sim {

// Checks circuit breakers. Not all failures can be seen from outside, but a nack is one for
// certain: enough of them in a row must open the breaker of a receiver.
class BreakerChecks {
 public:
  explicit BreakerChecks(Model& model) : model_(model) {}

  // After all effects.
  void check(const Step& step);

 private:
  void check_accepted(const Step& step, const core::Send& command);
  void check_refused(const Step& step, const core::Send& command);
  void learn_failures(const Step& step);

  Model& model_;
};

}  // namespace parley::sim
