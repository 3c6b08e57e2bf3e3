// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sim/model/model.h"

namespace parley::sim {

// Checks that no circle of agents that wait for each other closes unseen, and that none is seen
// where there is none.
class DeadlockChecks {
 public:
  explicit DeadlockChecks(Model& model) : model_(model) {}

  // The broker owes somebody a warning of a circle.
  void on_warned() { warned_ = true; }
  // Whom the sender of this request waits for is another now.
  void forget(Seq message) { blocked_.erase(message); }
  // After all effects.
  void check(const Step& step);

 private:
  // The sender of a request goes on only with the answer.
  struct Blocked {
    std::string from;
    std::string to;
    Time until;
    bool asks_back = false;
    bool has_timeout = false;  // The broker ends the wait with the request.
    uint64_t origin = 0;       // The life of the node whose caller waits. 0: it waits by itself.
    Seq carries{};             // The request that it passes on, whose sender is the one who waits.
  };

  bool leads(const std::string& from, const std::string& to) const;
  Seq working_on(const Step& step, const core::Send& command) const;
  std::optional<Blocked> blocks(const Step& step, const core::Send& command, Seq message) const;
  const SentMessage* waited_for_again(const Step& step, const core::Send& command) const;
  void end_blocked(const Step& step);

  Model& model_;
  std::map<Seq, Blocked> blocked_;  // By request.
  bool warned_ = false;             // With the entry at hand.
};

}  // namespace parley::sim
