// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "sim/checks/waiting/answers.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks that a scatter ends when it has the answers it needs, cannot get them any more, or its
// time is over.
class ScatterChecks {
 public:
  ScatterChecks(Model& model, AnswerChecks& answers) : model_(model), answers_(answers) {}

  void begin(const Step& step, const core::Send& command);
  // The broker owes the owner the result.
  void on_gathered(const Step& step, const core::OutboxItem& item);
  // No one gathers for an owner who is removed.
  void remove_owner(std::string_view name);
  void check(const Step& step);

 private:
  Model& model_;
  AnswerChecks& answers_;
};

}  // namespace parley::sim
