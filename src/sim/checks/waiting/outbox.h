// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/model/model.h"

namespace parley::sim {

// Checks the outbox: each item that the broker owes is sent once, and none is forgotten. What an
// item says is checked by the check of its kind.
class OutboxChecks {
 public:
  explicit OutboxChecks(Model& model) : model_(model) {}

  // Before the effects: which summaries wait, and what this entry added to them.
  void learn_summaries(const Step& step);
  void on_owed(const Step& step, const NamedEffect& effect);
  // The item is owed and sent in one entry, as happens when the entry that owed it was lost with
  // the power: the node that sends it lets time pass first, and so owes it again.
  void on_owed_and_sent(const core::Send& send);
  // After all effects.
  void check(const Step& step);

 private:
  void learn_news(const Step& step, uint64_t id);

  Model& model_;
};

}  // namespace parley::sim
