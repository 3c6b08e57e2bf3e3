// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/checks/waiting/deadlocks.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks tasks: a task that was given is there and one agent has it until it is done with; then it
// is not handed out again. Leases and deliveries are checked with those of all messages.
class TaskChecks {
 public:
  TaskChecks(Model& model, DeadlockChecks& deadlocks) : model_(model), deadlocks_(deadlocks) {}

  // A task goes to another agent.
  void learn_move(const Step& step, const core::ReassignTask& command);
  // True when another than the one who gets it now had it before the entry.
  bool was_of_another(const Step& step, const core::ReassignTask& command) const;
  // After all effects.
  void check(const Step& step);

 private:
  void check_message(const Step& step, const core::Send& command);
  void check_given(const Step& step, const core::Send& command);
  void check_moved(const Step& step, const core::ReassignTask& command);
  void check_report(const Step& step, const core::Envelope& envelope);
  std::vector<GivenTask> meant_by(const Step& step, const core::Envelope& envelope) const;
  void learn(const Step& step);
  void check_forgotten(const Step& step);

  Model& model_;
  DeadlockChecks& deadlocks_;
  std::map<std::string, size_t> open_tasks_;  // By director, after the entry before.
};

// True when its director gave the same task before in the same conversation: then the message is
// not delivered.
bool is_given_again(const Step& step, const core::Envelope& envelope);

// True when this entry takes the message from the receiver, because its task went to another agent
// or was given again in other words.
bool is_superseded(Model& model, const Step& step, Seq message, const std::string& receiver);

// True when the specialist has reported on the task of this message, or that it is there.
bool is_renewed(const Model& model, const Step& step, const SentMessage& sent,
                const Delivery& delivery);

}  // namespace parley::sim
