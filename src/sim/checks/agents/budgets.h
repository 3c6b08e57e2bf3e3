// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/checks/agents/rates.h"
#include "sim/checks/waiting/answers.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks the guards against what runs away: daily budgets of messages and tokens, fan-out,
// critical messages, and agents that only answer each other. What exceeds them is stopped, and
// nothing else is.
class BudgetChecks {
 public:
  BudgetChecks(Model& model, RateChecks& rates, const AnswerChecks& answers)
      : model_(model), rates_(rates), answers_(answers) {}

  // After all effects.
  void check(const Step& step);

  // Messages that go to and fro between two agents, or round a ring of several.
  struct Exchange {
    std::vector<std::string> agents;  // Each spoke to the next.
    size_t turn = 0;                  // In a ring: whose turn it is.
    bool is_ring = false;
    uint64_t turns = 0;
    Time since;
  };

 private:
  void check_budget(const Step& step, const core::Send& command);
  void check_fan_out(const Step& step);
  void check_critical(const Step& step, const core::Send& command);
  void check_minute(const Step& step, std::string_view what, uint64_t added, uint64_t per_min,
                    std::vector<std::pair<Time, uint64_t>>& past);
  void check_exchange(const Step& step, const core::Send& command);
  void end_exchanges(const std::string& name);
  void forget_exchanges(const core::Envelope& envelope, const SentMessage& sent);
  void count_turn(const Step& step, const std::string& name, const std::string& from,
                  const std::string& to);
  void check_refusal(const Step& step);
  void reset(const std::string& name);

  Model& model_;
  RateChecks& rates_;
  const AnswerChecks& answers_;
  std::map<std::string, Exchange> exchanges_;  // By thread, by correlation or by the two agents.
};

}  // namespace parley::sim
