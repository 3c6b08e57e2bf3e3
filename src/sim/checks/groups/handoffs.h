// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "sim/model/model.h"

namespace parley::sim {

// Checks handoffs (SQ-05): each has the time of its priority, and what nobody reacts to until then
// is announced, once to each whom it concerns.
class HandoffChecks {
 public:
  explicit HandoffChecks(Model& model) : model_(model) {}

  // The broker owes someone the news that one is overdue.
  void on_announced(const Step& step, const NamedEffect& effect);
  // After all effects.
  void check(const Step& step);

 private:
  Model& model_;
  std::set<std::tuple<Seq, std::string, std::string>> told_;  // Message, its receiver, who is told.
  std::map<core::Handoffs::Key, core::Handoff> known_;        // After the entry before.
};

}  // namespace parley::sim
