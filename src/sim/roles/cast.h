// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/edge/run_state.h"
#include "sim/roles/approver.h"
#include "sim/roles/ledger.h"
#include "sim/roles/moderator.h"
#include "sim/roles/stranger.h"
#include "sim/roles/supervisor.h"
#include "sim/roles/worker.h"

namespace parley::edge_sim {

// Those who have a part in how tasks are done, beside the agents of a run: supervisors and workers
// of superprompt, people who approve or moderate, and strangers who look on. What they wrote down
// is held to the checks of this folder.
class Cast {
 public:
  using AsAdmin = std::function<Reply(const Ask&)>;
  explicit Cast(RunState& run) : run_(run) {}

  // Registers them. Until then there is nobody, and nothing below does anything.
  void set_up(const AsAdmin& as_admin);
  // Some of them do something.
  void act();
  // After each turn of the loop.
  void read();
  void lose_connection();
  // While a run ends: all that is not done yet.
  void drain();
  bool is_idle() const;
  void judge();
  void hang_up();

 private:
  RoleClient::Profile agent(const AsAdmin& as_admin, std::string name, std::string dialect,
                            const std::string& role);
  RoleClient::Profile human(const AsAdmin& as_admin, const std::string& name,
                            const std::string& rights);
  std::string token_in(const std::string& name, const Reply& reply);
  template <class Visit>
  void each(const Visit& visit) const;

  RunState& run_;
  Ledger ledger_;
  std::vector<std::unique_ptr<Supervisor>> supervisors_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Approver>> approvers_;
  std::vector<std::unique_ptr<Moderator>> moderators_;
  std::vector<std::unique_ptr<Stranger>> strangers_;
};

}  // namespace parley::edge_sim
