// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "sim/roles/ledger.h"
#include "sim/roles/mailbox.h"
#include "sim/roles/role_client.h"

namespace parley::edge_sim {

// A person with the right to approve: lists what waits, looks at it, decides, also when another
// has, and not always for what it was shown. What it is told is held to the check `decision`.
class Approver {
 public:
  Approver(RunState& run, Ledger& ledger, RoleClient::Profile profile);

  RoleClient& client() { return client_; }
  void act();
  void drain();
  // All that was asked is decided, as far as it was told, and what passed was read.
  bool is_idle() const;

 private:
  void list();
  void on_listing(std::string_view body);
  void look();
  void on_shown(uint64_t id, const Reply& reply);
  void decide();
  void on_decided(uint64_t id, size_t number, const Reply& reply);

  RunState& run_;
  Ledger& ledger_;
  RoleClient client_;
  Mailbox mailbox_;
  bool is_listing_ = false;
  std::set<uint64_t> shown_;  // By id.
};

}  // namespace parley::edge_sim
