// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "sim/roles/ledger.h"
#include "sim/roles/mailbox.h"
#include "sim/roles/role_client.h"

namespace parley::edge_sim {

// A worker of superprompt: does its tasks at once, late or never, well or badly, more or less sure,
// and says so again where it was not told that this was heard.
class Worker {
 public:
  Worker(RunState& run, Ledger& ledger, RoleClient::Profile profile);

  RoleClient& client() { return client_; }
  void act();
  void drain();
  bool is_idle() const;

 private:
  // What it read of a task.
  struct Order {
    std::string giver;
    bool wants_approval = false;
    double threshold = 0;
  };

  bool on_message(const Mailbox::Item& item);
  void work();
  void answer(const std::string& task, const Order& order);
  void send(const std::string& id);
  void send_again();
  void withdraw();
  void ask_for_time(const std::string& task, const Order& order);

  RunState& run_;
  Ledger& ledger_;
  RoleClient client_;
  Mailbox mailbox_;
  std::map<std::string, Order> to_do_;  // By task.
};

}  // namespace parley::edge_sim
