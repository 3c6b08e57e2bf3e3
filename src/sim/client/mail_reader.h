// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "lib/json.h"
#include "sim/client/record.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// How an agent fetches its messages: it polls listings and reads what they name. Records every
// message, however it came, and checks what can be checked of it then.
class MailReader {
 public:
  MailReader(RunState& run, Agent& agent) : run_(run), agent_(agent) {}

  void poll(bool waits);
  // While a run ends: reads what was listed and is not read yet.
  void fetch_listed();
  // Records a message that came.
  Mail& see(lib::Json message, uint64_t seq, std::string_view how);
  // A message that was confirmed as done with does not come again to what was asked after that.
  // `since` is the step of that, and `connection` the stream that brings it. 0: none does.
  void check_repeat(const Mail& mail, uint64_t since, uint64_t connection, std::string_view how);
  // A receiver reads its own name in a message, a topic or everyone, and not another agent.
  void check_rendering(const Mail& mail, std::string_view words);

  // There may be mail.
  void wake() { woken_ = true; }
  // The agent is removed.
  void leave();
  bool is_idle() const { return !polling_ && fetching_.empty() && listed_.empty(); }
  std::string pending() const;

 private:
  void poll_by_tool(bool waits, uint64_t limit);
  void on_listing(std::string_view body, uint64_t asked_at);
  void fetch(const std::string& id);
  void fetch_by_tool(const std::string& id);
  void fetch_next();
  void on_fetched(std::string_view body, bool is_former);
  void hear_failure(std::string_view notice);

  RunState& run_;
  Agent& agent_;
  bool polling_ = false;
  bool woken_ = true;
  std::set<std::string> listed_;    // And not read yet.
  std::set<std::string> fetching_;  // Of these: asked for.
};

}  // namespace parley::edge_sim
