// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "sim/client/agent.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// The one who runs the broker: registers agents, gives them new tokens, removes them and lets them
// in again, changes rules while all of them work.
class Admin {
 public:
  explicit Admin(RunState& run) : run_(run) {}

  // Does one of these things.
  void act();
  // Reads the answers, and goes on with what is not done.
  void read();
  // Nothing is half done.
  bool is_idle() const { return changes_.empty() && (wire_ == nullptr || wire_->waiting() == 0); }
  void hang_up() { wire_.reset(); }
  void ask(const Ask& ask, CallWire::Done done);

 private:
  // An agent that gets a new token, perhaps after it was removed.
  struct Change {
    std::string name;
    bool removes = false;
    bool is_new = false;                   // It was removed.
    std::optional<Agent::Profile> next{};  // Who has the name then.
  };

  void go_on();
  void on_registered(Agent& agent, Agent::Profile profile, const Reply& reply);
  void change_rules();

  RunState& run_;
  std::unique_ptr<CallWire> wire_;
  std::deque<Change> changes_;
};

std::string random_dialect(sim::Random& random);
std::string random_role(std::string_view dialect, sim::Random& random);

// What POST /v1/agents takes for an agent; a new token is told, and the former ones end. With
// `sets_webhook` the same of the secret of its webhook.
std::string registration(const Agent::Profile& profile, bool sets_webhook);

}  // namespace parley::edge_sim
