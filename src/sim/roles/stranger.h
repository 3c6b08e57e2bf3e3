// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/roles/ledger.h"
#include "sim/roles/mailbox.h"
#include "sim/roles/role_client.h"

namespace parley::edge_sim {

// One with no part in any of it, who walks around: asks for lists, messages, threads, tasks,
// approvals and flags by their real names, and tries to do what others may.
class Stranger {
 public:
  Stranger(RunState& run, Ledger& ledger, RoleClient::Profile profile);

  RoleClient& client() { return client_; }
  void act();
  void drain();
  bool is_idle() const;

 private:
  void walk();
  std::string target();
  std::string any_message();
  void try_to_resolve();

  RunState& run_;
  Ledger& ledger_;
  RoleClient client_;
  Mailbox mailbox_;
};

}  // namespace parley::edge_sim
