// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "sim/checks/groups/sessions.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks that a message is accepted once, and goes to those it was addressed to and to no one else.
// It writes the messages and their deliveries into the model.
// An escalation goes to people: to those that it names, else to those who maintain the workspace.
// Who gets it though it names nobody of them.
std::vector<std::string> people_besides(const Model& model, const Step& step,
                                        const core::Envelope& envelope);

class ReceiverChecks {
 public:
  ReceiverChecks(Model& model, SessionChecks& sessions) : model_(model), sessions_(sessions) {}

  // A repeated message is known as one, and no other is taken for one.
  void check_repeat(const Step& step, const core::Send& command);
  // A new message was accepted.
  void accept(const Step& step, const core::Send& command);
  // The command made deliveries: of its own message, or of retained ones to a new subscriber.
  void add_deliveries(const Step& step);
  // The new message has the receivers that it must have.
  void check_receivers(const Step& step, const core::Send& command);

 private:
  void add_people(const Step& step, const core::Send& command,
                  std::set<std::string>& expected) const;
  std::set<std::string> receivers_of(const core::Envelope& envelope) const;
  void keep_concerned(const Step& step, const core::Send& command,
                      const std::set<std::string>& found, std::set<std::string>& expected);
  void redirect(const Step& step, const core::Send& command, const std::set<std::string>& found,
                std::set<std::string>& expected);
  bool may_stand_in(const Step& step, const core::Send& command, const std::string& named,
                    const std::string& other) const;
  bool is_away_for(const Step& step, const std::string& name) const;

  Model& model_;
  SessionChecks& sessions_;
};

// True when another agent may get the message where its receiver is away.
bool redirects(const Model& model, const core::Send& command);
// SP-02: both are agents that speak superprompt, and neither is an orchestrator.
bool bypasses_hub(const Model& model, const std::string& sender, const std::string& receiver);

}  // namespace parley::sim
