// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "lib/json.h"
#include "sim/roles/role_client.h"

namespace parley::edge_sim {

// How one of the cast reads its mail: lists it, reads each and acknowledges it, until it is told
// that this is done.
class Mailbox {
 public:
  struct Item {
    std::string id;
    std::string mark;  // Of the listing.
    lib::Json message;
    bool may_be_read = false;  // It was asked for before, and that answer was lost.
  };
  // Whether it is to be acknowledged.
  using OnMessage = std::function<bool(const Item&)>;

  Mailbox(RunState& run, RoleClient& client, OnMessage on_message)
      : run_(run), client_(client), on_message_(std::move(on_message)) {}

  // Goes on with all of this.
  void go_on();
  // Nothing was left when it looked last.
  bool is_empty() const {
    return is_listed_ && listed_.empty() && unsettled_.empty() && !is_listing_;
  }

 private:
  void on_listing(std::string_view body);
  void fetch(const std::string& id);
  void settle(const std::string& id);

  RunState& run_;
  RoleClient& client_;
  OnMessage on_message_;
  bool is_listing_ = false;
  bool is_listed_ = false;                     // And there was nothing.
  std::map<std::string, std::string> listed_;  // The marks of what is not read yet.
  std::set<std::string> unsettled_;
  std::set<std::string> asked_;  // Of both: asked for.
  std::set<std::string> lost_;   // Asked for, and the answer never came.
};

}  // namespace parley::edge_sim
