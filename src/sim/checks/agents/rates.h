// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/model/model.h"

namespace parley::sim {

// Checks rate limits, as properties that do not depend on how the core keeps them: of what was
// accepted since any moment no limit has let more through than its bucket and what came in since;
// and a message that no limit binds is never held up.
class RateChecks {
 public:
  explicit RateChecks(Model& model) : model_(model) {}

  // After all effects.
  void check(const Step& step);
  // An admin resets the limits of somebody: they begin anew.
  void reset() { spent_.clear(); }

 private:
  // What one message took from one limit.
  struct Spent {
    Seq message;
    Time accepted;
    uint64_t half_tokens = 0;
  };

  void check_passed(const Step& step, const SentMessage& sent, Delivery& delivery);
  bool is_hurried(const Step& step, const SentMessage& sent, const Delivery& delivery) const;
  void spend(const Step& step, const std::string& limit, uint64_t per_min, const SentMessage& sent);
  void forget_spent(const Step& step);

  Model& model_;
  std::map<std::string, std::vector<Spent>> spent_;  // By limit, the oldest first.
};

}  // namespace parley::sim
