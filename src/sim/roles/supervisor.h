// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "sim/roles/ledger.h"
#include "sim/roles/mailbox.h"
#include "sim/roles/role_client.h"

namespace parley::edge_sim {

// An orchestrator of superprompt: gives tasks to workers, some of which want their answers
// approved, sends them again now and then, asks how they stand, and reads how they end.
class Supervisor {
 public:
  Supervisor(RunState& run, Ledger& ledger, RoleClient::Profile profile);

  RoleClient& client() { return client_; }
  // One of these things.
  void act();
  // All that is not done yet.
  void drain();
  // Every task of its own has ended, and it knows how.
  bool is_idle() const;

 private:
  void delegate();
  void send(const std::string& id);
  void on_receipt(const std::string& id, const Reply& reply);
  void ask_state(const std::string& id);
  void on_state(const std::string& id, uint64_t asked_at, const Reply& reply);
  bool on_message(const Mailbox::Item& item);
  void on_ending(GivenTask& task, const Ending& ending);
  void on_decision(const Mailbox::Item& item);
  // One of its own by chance; nullptr when it has none.
  GivenTask* any();
  // One whose answer waits for people, or did until it was taken back; nullptr where there is none.
  const std::string* held_task() const;

  RunState& run_;
  Ledger& ledger_;
  RoleClient client_;
  Mailbox mailbox_;
  uint64_t given_ = 0;
  // Answers that people changed: of which it has read the decision, and those that it read before.
  std::set<std::string> decided_;
  std::set<std::string> early_;
};

}  // namespace parley::edge_sim
