// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/roles/ledger.h"
#include "sim/roles/mailbox.h"
#include "sim/roles/role_client.h"

namespace parley::edge_sim {

// A person with the right to moderate: lists the private flags, reads each, and resolves some.
class Moderator {
 public:
  Moderator(RunState& run, Ledger& ledger, RoleClient::Profile profile);

  RoleClient& client() { return client_; }
  void act();
  void drain();
  // It has seen every flag that was accepted.
  bool is_idle() const;

 private:
  void list();
  void look();
  void on_shown(uint64_t id, const Reply& reply);
  void resolve();

  RunState& run_;
  Ledger& ledger_;
  RoleClient client_;
  Mailbox mailbox_;
  bool is_listing_ = false;
  std::map<uint64_t, bool> known_;  // By id: whether it was shown.
};

}  // namespace parley::edge_sim
