// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/model/model.h"

namespace parley::sim {

// Whether it counts against the agent that it did not answer: it had time, and was not heard of.
bool is_missed(const Model& model, const std::string& name, const Request& request);

// Checks that an agent that is silent for too long is offline, that one that does not answer is not
// available, and that one that is heard of is neither.
class PresenceChecks {
 public:
  explicit PresenceChecks(Model& model) : model_(model) {}

  // Before the command: time has passed, and the actor is there.
  void learn_silence(const Step& step);
  // A request was not answered in time.
  void note_unanswered(const Step& step, Seq message, const Request& request);
  // A stream of this agent was closed.
  void on_disconnected(const std::string& agent) { disconnected_.push_back(agent); }
  // After all effects.
  void check(const Step& step);

 private:
  Model& model_;
  std::vector<std::string> disconnected_;  // With the entry at hand.
};

}  // namespace parley::sim
