// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/humans/approvals.h"
#include "core/model/command.h"
#include "sim/checks/named_effect.h"

namespace parley::sim {

// What the agents of the workload remember of what they did and saw. All lists are short: an agent
// comes back to what happened not long ago.
struct Memory {
  // A message that was handed out.
  struct Held {
    core::WorkspaceId workspace{};
    std::string receiver;
    core::Seq message;
    core::MessageId id;
    core::StreamId stream;
    core::ResumeMark mark;
    std::string sender;
    std::string asker;  // Gets the answer.
  };
  // A message that was sent.
  struct Sent {
    core::WorkspaceId workspace{};
    std::string sender;
    core::MessageId id;
    core::Id128 key;
    std::string body;
    std::vector<std::string> receivers;
    core::Dialect dialect = core::Dialect::flow;
    std::string thread;
    std::string session;
  };
  struct Lock {
    std::string name;
    std::string agent;
    core::Seq fence;
  };
  // What people have to decide on, as they see it.
  struct Waiting {
    core::WorkspaceId workspace{};
    uint64_t approval = 0;
    core::ProposalDigest digest{};
    std::string sender;

    bool operator==(const Waiting&) const = default;
  };
  struct OpenStream {
    core::WorkspaceId workspace{};
    std::string agent;
    core::StreamId stream;
  };

  std::map<core::Seq, core::MessageId> ids;
  std::map<core::Seq, std::string> senders;
  std::map<core::Seq, std::string> askers;
  std::map<core::Seq, std::string> threads;
  std::deque<Held> held;            // The newest last, as in all of these.
  std::set<core::Seq> stages;       // Messages to the stages of pipelines.
  std::deque<Held> stages_held;     // Those of them that were handed out.
  std::set<core::Seq> passed_on;    // Requests that were passed on.
  std::deque<Held> passed_on_held;  // Those of them that were handed out.
  std::set<core::Seq> tried;        // Tasks that the broker tries again.
  std::deque<Held> tried_held;      // Those of them that were handed out.
  std::set<core::Seq> disputes;     // Messages of debates.
  std::deque<Held> disputes_held;   // Those of them that were handed out.
  std::deque<Sent> sent;
  std::deque<Waiting> waiting;  // Messages.
  std::deque<Waiting> asked;    // What else they are asked.
  std::deque<OpenStream> streams;
  std::deque<std::pair<core::WorkspaceId, uint64_t>> dead_letters;
  Lock lock;                   // The lock that was got last.
  std::string paused_session;  // As far as was told.
  uint32_t workspaces = 1;
  std::optional<Held> cut_off;  // The newest of a stream that was lost. Its client comes back.

  // A node reported an entry.
  void saw(const core::Entry& entry, const core::Outcome& outcome,
           const std::vector<NamedEffect>& effects);
  // The same entry: what people see of what they have to decide on.
  void saw_approval(core::WorkspaceId workspace, const core::Approval& approval);

 private:
  void saw_message(core::Seq seq, const core::Send& send);
};

// Adds the item as the newest, and forgets the oldest beyond `max`.
template <class Deque, class Item>
void remember(Deque& items, Item item, size_t max) {
  items.push_back(std::move(item));
  if (items.size() > max) {
    items.pop_front();
  }
}

}  // namespace parley::sim
