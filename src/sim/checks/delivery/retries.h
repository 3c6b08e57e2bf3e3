// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/model/model.h"

namespace parley::sim {

// Checks the broker's own retries in the collab dialect: a message by name whose receiver cannot
// take it is tried again when and as often as the rules say, as long as that receiver is away or
// has no room.
class RetryChecks {
 public:
  explicit RetryChecks(Model& model) : model_(model) {}

  // Compares a delivery in the tables with the model: whether it may be tried again, and then.
  void note_try(const Step& step, const SentMessage& sent, Delivery& delivery,
                const core::Delivery& actual) const;
  // True when the inbox had no room at the time when `delivery` was tried.
  bool was_full(const Step& step, const SentMessage& tried, const Delivery& delivery) const;

 private:
  bool went_in(const Step& step, const SentMessage& sent, const Delivery& delivery,
               const SentMessage& tried, Time due) const;
  bool went_out(const Step& step, const SentMessage& sent, const Delivery& delivery,
                const SentMessage& tried, Time due) const;

  Model& model_;
};

}  // namespace parley::sim
