// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace parley::edge_sim {

using base::Duration;
using base::Time;

// What became of something that is asked for until its client is told.
enum class Fate : uint8_t { open, accepted, refused };

// How a task ended, as its giver read it.
struct Ending {
  std::string id;  // Of the message.
  bool by_broker = false;
  std::string error_type{};  // Of a failure.
  std::string mark{};        // Of the listing: `late`, `duplicate`, `modified` or nothing.
};

// A task that a supervisor gave.
struct GivenTask {
  std::string id;
  std::string giver;
  std::string worker;
  std::string text;  // As it is sent each time.
  Duration timeout;  // Of each try.
  Duration more{};   // That was asked for.
  Fate fate = Fate::open;
  bool in_flight = false;
  uint64_t seq = 0;
  std::string state{};            // Of the request, as its giver was told last.
  bool stood_still = false;       // Its giver was told that its timer does.
  std::vector<Ending> endings{};  // Each once.

  bool has_ended() const {
    return state == "answered" || state == "timed_out" || state == "failed";
  }
};

// What a worker answered.
struct GivenAnswer {
  std::string id;
  std::string task;
  std::string giver;  // Of the task.
  std::string worker;
  std::string marker;
  std::string text;
  bool needs_people = false;
  Fate fate = Fate::open;
  bool in_flight = false;
  uint64_t told_at = 0;         // The step in which it was accepted, as far as its worker knows.
  Time told;                    // The same, on the clock.
  bool may_pass = false;        // One who may asked to let it pass, for what was shown.
  bool may_be_decided = false;  // The same, however decided, or its worker takes it back.
  bool may_be_withdrawn = false;
  bool was_seen = false;  // By the giver of the task.
};

// What one asked to become of an approval.
struct AskedDecision {
  std::string by;
  std::string word;  // `approve`, `reject`, `modify`, `withdraw`.
  bool is_as_shown = true;
  bool is_confirmed = false;  // It was told that this is done.
};

// What people are asked about an answer, as they were told.
struct AskedApproval {
  uint64_t id = 0;
  std::string answer{};
  std::string digest{};
  std::string state{};
  std::string decided_by{};
  std::vector<AskedDecision> decisions{};

  bool is_pending() const { return state.empty() || state == "pending"; }
  bool has_passed() const { return state == "approved" || state == "modified"; }
};

// What one put before the moderators.
struct RaisedFlag {
  std::string id;
  std::string by;
  std::string marker;
  std::string target{};  // Where it is sent, each time in these words.
  std::string text{};
  Fate fate = Fate::open;
  bool in_flight = false;
  uint64_t shown_as = 0;  // The id by which moderators see it. 0: they have not.
};

// Each of them by its id.
struct Ledger {
  std::vector<std::string> supervisors{};
  std::vector<std::string> workers{};
  std::vector<std::string> approvers{};
  std::vector<std::string> maintainers{};
  std::vector<std::string> moderators{};
  std::map<std::string, GivenTask> tasks{};
  std::map<std::string, GivenAnswer> answers{};
  std::map<uint64_t, AskedApproval> approvals{};
  std::vector<RaisedFlag> flags{};
  uint64_t last = 0;  // Number in an id.

  const AskedApproval* find_approval(std::string_view answer) const {
    const auto at = std::ranges::find_if(
        approvals, [&](const auto& each) { return each.second.answer == answer; });
    return at == approvals.end() ? nullptr : &at->second;
  }
  bool may_approve_or_maintain(const std::string& name) const {
    return std::ranges::count(approvers, name) + std::ranges::count(maintainers, name) > 0;
  }

  std::string next_id(std::string_view by, std::string_view what) {
    return std::string(by).append("-").append(what).append("-").append(std::to_string(++last));
  }
};

}  // namespace parley::edge_sim
