// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/command.h"
#include "core/state/slots.h"

namespace parley::core {

// How a scatter-gather stands. Written into snapshots: never renumber.
enum class GatherState : uint8_t { open = 0, complete = 1, partial = 2, failed = 3 };
constexpr GatherState gather_state_last = GatherState::failed;
std::string_view gather_state_name(GatherState state);

// A scatter-gather: a request to several members, whose owner is told once what came of it. Their
// responses stay in the journal; here is only where.
struct Gather {
  struct Member {
    std::string name;
    Seq response;  // 0: none yet
    Status status = Status::unset;
    bool failed = false;  // the request did not reach it

    // A member that answers with an error or declines has answered, but does not help to reach the
    // number that is needed.
    bool counts() const {
      return response.n != 0 && status != Status::error && status != Status::declined;
    }
    static void fields(auto& self, auto& field) {
      field("name", self.name);
      field("response", self.response);
      field("status", self.status, status_last);
      field("failed", self.failed);
    }
    bool operator==(const Member&) const = default;
  };

  Seq message;  // the request to all members
  MessageId id;
  std::string owner;
  std::string task{};    // the taskId of the request; empty: it has none
  std::string thread{};  // of that task; empty without one
  Gathering terms;
  GatherState state = GatherState::open;
  bool extended = false;
  std::vector<Member> members{};
  Time since{};
  Time due{};  // end of the window
  Time ended{};
  uint32_t timer = none;

  // How many responses must count, by the strategy; how many do.
  size_t needed() const;
  size_t good() const;
  // How many could at the end: those that do, and those who may still answer.
  size_t possible() const;

  static void fields(auto& self, auto& field) {
    field("message", self.message);
    field("id", self.id);
    field("owner", self.owner);
    field("task", self.task);
    field("thread", self.thread);
    field("terms", self.terms);
    field("state", self.state, gather_state_last);
    field("extended", self.extended);
    field("since", self.since);
    field("due", self.due);
    field("ended", self.ended);
    field("members", self.members);
  }
};

}  // namespace parley::core
