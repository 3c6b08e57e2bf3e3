// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "sim/model/model.h"

namespace parley::sim {

// Checks that a pipeline asks its stages one after the other, goes on while they answer, and ends
// with the last one or with one that fails.
class PipelineChecks {
 public:
  explicit PipelineChecks(Model& model) : model_(model) {}

  void begin(const Step& step, const core::Send& command, core::Duration timeout);
  // The broker owes the next stage its request.
  void on_stage_owed(const core::OutboxItem& item, const NamedEffect& effect);
  // The broker sends an outbox item: when it is a stage's request, it is the one that is due.
  void check_stage(const Step& step, const core::Send& command);
  // The broker owes the owner the result.
  void on_ended(const Step& step, const core::OutboxItem& item);
  void remove_owner(std::string_view name);
  void check(const Step& step);

 private:
  Model& model_;
};

// True when the pipeline that this command begins waits, because its first stage is busy.
bool is_held_back(const Step& step, const core::Send& command);

}  // namespace parley::sim
