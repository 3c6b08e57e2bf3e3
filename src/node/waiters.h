// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "core/machine/machine.h"

namespace parley::node {

// The place of an answer; or why there is none: not_answered when the question failed for all of
// its receivers, timeout when its own time was over.
using Answer = std::expected<base::Seq, base::Code>;

// One who waits; to be forgotten when it waits no longer.
struct Waiter {
  core::WorkspaceId workspace{};
  core::AgentRef agent = core::none;  // waits for mail of this agent, or
  base::Seq question{};               // for the answer to this message, or
  std::optional<uint64_t> approval{};  // for this approval; 0: for any
  uint64_t id = 0;
};

// Those who wait for mail or for an answer. Each is called once and is gone then. Thousands may
// wait for the same, and hang up one by one: each leaves without a look at the others. Belongs to
// the node's thread.
class Waiters {
 public:
  // Calls `wake` once, when something waits for the agent.
  Waiter on_mail(core::WorkspaceId workspace, core::AgentRef agent, std::function<void()> wake);
  // Calls `answered` once with what came of the message at `question`; or of the request at that
  // place for a lock: its own place when it has it, else timeout.
  Waiter on_answer(core::WorkspaceId workspace, base::Seq question,
                   std::function<void(Answer)> answered);
  // Calls `changed` once, when the approval was asked for or has ended; 0: when any was.
  Waiter on_approval(core::WorkspaceId workspace, uint64_t approval, std::function<void()> changed);
  // Does nothing for one that was called.
  void forget(const Waiter& waiter);
  // Whether someone waits for mail of the agent.
  bool is_awaited(core::WorkspaceId workspace, core::AgentRef agent) const {
    return mail_.contains({workspace, agent});
  }

  // Calls those who wait for what the effect says. `machine` is as the entry left it.
  void hear(const core::Machine& machine, const core::Entry& entry, const core::Effect& effect);

 private:
  // By id, which is also their order.
  template <class Key, class... Told>
  using Table =
      std::map<std::pair<core::WorkspaceId, Key>, std::map<uint64_t, std::function<void(Told...)>>>;

  void hear_settled(const core::Machine& machine, const core::Entry& entry,
                    const core::Settled& settled);

  uint64_t next_id_ = 1;
  Table<core::AgentRef> mail_;
  Table<base::Seq, Answer> answers_;
  Table<uint64_t> approvals_;
};

}  // namespace parley::node
