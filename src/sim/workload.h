// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/command.h"
#include "sim/checks/facts.h"
#include "sim/faulty_journal.h"

namespace parley::sim {

// One thing that someone asks. The command's texts are good until the next call.
struct Ask {
  core::WorkspaceId workspace{};
  std::string actor;
  core::Command command;
};

// The agents: they send, take, ack, give back, vanish, repeat themselves and talk nonsense. They
// know only what the nodes told them.
class Workload {
 public:
  explicit Workload(Setting& setting) : setting_(setting) {}

  // What everyone needs first: rules for a short life, and some agents.
  std::vector<Ask> opening();

  // What someone asks next, by way of the node whose present life has this origin.
  Ask next(uint64_t origin);

  // What a node told: the receivers remember what they hold.
  void saw(const core::Entry& entry, const core::Outcome& outcome, const std::vector<Fact>& facts);

 private:
  struct Held {
    core::WorkspaceId workspace{};
    std::string receiver;
    core::Seq message;
    core::MessageId id;
    core::StreamId stream;
    core::ResumeMark mark;
    std::string sender;
    std::string asker;  // who gets the answer
  };
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
  struct Owned {
    std::string name;
    std::string agent;
    core::Seq fence;
  };
  struct Opened {
    core::WorkspaceId workspace{};
    std::string agent;
    core::StreamId stream;
  };

  core::Command some_command(uint64_t origin, Ask& ask);
  core::Command some_send(Ask& ask);
  void some_pattern(core::Send& send, Sent& sent);
  void work_on(const Held& question, Ask& ask, core::Send& send, Sent& sent);
  void some_absence(core::Send& send, const Sent& sent);
  core::Command send_again(Ask& ask);
  core::Command some_settling(Ask& ask);
  core::Command some_register(Ask& ask);
  core::Command some_rules(Ask& ask);
  core::Command some_stream(uint64_t origin, Ask& ask);
  core::ResumeMark some_mark(Ask& ask);
  core::Command some_resolve(Ask& ask);
  core::Command some_workspace(Ask& ask);
  core::Command some_session(Ask& ask);
  core::Command some_lock(Ask& ask);
  core::Command some_move(Ask& ask);
  core::Command nonsense(uint64_t origin, Ask& ask);
  std::vector<std::string> some_receivers();
  core::Target some_target(const Held& held);
  std::string some_agent();
  const Held& some_held();
  core::WorkspaceId some_workspace_id();
  core::MessageId new_id();
  std::string_view keep(std::string text);

  Setting& setting_;
  std::deque<std::string> texts_;  // of the command that was asked last
  std::map<core::Seq, core::MessageId> ids_;
  std::map<core::Seq, std::string> senders_;
  std::map<core::Seq, std::string> askers_;
  std::map<core::Seq, std::string> threads_;
  std::deque<Held> held_;       // newest last
  std::set<core::Seq> stages_;  // messages to the stages of pipelines
  std::deque<Held> staged_;     // those of them that were handed out, newest last
  std::set<core::Seq> links_;   // requests that were passed on
  std::deque<Held> linked_;     // those of them that were handed out, newest last
  std::deque<Sent> sent_;
  std::deque<Opened> opened_;
  std::deque<std::pair<core::WorkspaceId, uint64_t>> letters_;
  Owned locked_;        // the lock that was got last
  std::string paused_;  // a session, as far as was told
  uint32_t workspaces_ = 1;
  uint64_t next_id_ = 1;
  uint64_t next_stream_ = 1;
  std::optional<Held> cut_off_;  // the newest of a stream that was lost; its client comes back
};

}  // namespace parley::sim
