// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/model/model.h"

namespace parley::sim {

// Checks that an agent that is silent for too long is offline, that one that does not answer is not
// available, and that one that is heard of is neither.
class PresenceChecks {
 public:
  explicit PresenceChecks(Model& model) : model_(model) {}

  // Before the command: time has passed, and the actor is there.
  void learn_silence(const Step& step);
  // A request was not answered in time.
  void note_unanswered(const Step& step, Seq message);
  // A stream of this agent was closed.
  void on_disconnected(const std::string& agent) { disconnected_.push_back(agent); }
  // After all effects.
  void check(const Step& step);

 private:
  Model& model_;
  std::vector<std::string> disconnected_;  // With the entry at hand.
};

}  // namespace parley::sim
