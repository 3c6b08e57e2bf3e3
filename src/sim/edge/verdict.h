// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/client/agent.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// What the records of all clients say when they are compared, at the end of a run.
class Verdict {
 public:
  using AsAdmin = std::function<Reply(const Ask&)>;
  Verdict(RunState& run, AsAdmin as_admin) : run_(run), as_admin_(std::move(as_admin)) {}

  // Every sender asks how its messages stand.
  void ask();
  // All of them are settled, as far as their senders were told.
  bool is_settled() const;
  void judge();

 private:
  struct Standing {
    std::string receiver;
    std::string state;
    std::string error;
    uint64_t attempts = 0;
    uint64_t step = 0;  // When its sender was told.
  };
  struct Report {
    int status = 0;
    std::string body;
    std::vector<Standing> standings;
    bool is_open = false;  // For one of its receivers.
  };

  void ask_of_former(Agent& agent, const Sent& sent);
  void on_delivery(const std::string& marker, const Reply& reply);
  void judge(const Agent& sender, const Sent& sent, const Report& report);
  void judge(const Sent& sent, const Standing& standing, const Agent& receiver);
  void judge_order(const Agent& receiver, const Disorder& disorder);
  bool was_retried(const Agent& receiver, const Mail& mail) const;
  void judge_topic(const Agent& sender, const Sent& sent);

  RunState& run_;
  AsAdmin as_admin_;
  std::map<std::string, Report> reports_;  // By marker.
};

}  // namespace parley::edge_sim
