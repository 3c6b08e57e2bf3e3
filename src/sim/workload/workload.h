// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/command.h"
#include "sim/checks/named_effect.h"
#include "sim/setting.h"
#include "sim/workload/memory.h"

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

  // A node reported an entry: the receivers remember what they hold.
  void saw(const core::Entry& entry, const core::Outcome& outcome,
           const std::vector<NamedEffect>& effects) {
    memory_.saw(entry, outcome, effects);
  }
  void saw_approval(core::WorkspaceId workspace, const core::Approval& approval) {
    memory_.saw_approval(workspace, approval);
  }

 private:
  // workload.cc: who asks what.
  core::Command some_command(uint64_t origin, Ask& ask);
  core::Command some_rare_command(uint64_t roll, uint64_t origin, Ask& ask);
  core::Command some_subscription();
  core::Command some_heartbeat();
  core::Command some_flag();
  core::Command some_approval(Ask& ask);
  core::Command some_approver(Ask& ask);
  core::Command some_decision(Ask& ask);
  std::string some_agent();
  const Memory::Held& some_held();
  core::WorkspaceId some_workspace_id();
  core::MessageId new_id();
  std::string_view keep(std::string text);

  // sending.cc: messages.
  core::Command some_send(Ask& ask);
  void some_message(Ask& ask, core::Send& send, Memory::Sent& sent);
  void some_pattern(core::Send& send, Memory::Sent& sent);
  void some_occasion(Ask& ask, core::Send& send, Memory::Sent& sent);
  void answer(Ask& ask, core::Send& send, Memory::Sent& sent);
  void work_on(const Memory::Held& question, Ask& ask, core::Send& send, Memory::Sent& sent);
  void some_absence(core::Send& send, const Memory::Sent& sent);
  void some_wish(core::Envelope& e);
  void ask_for_time(Ask& ask, core::Send& send, Memory::Sent& sent);
  void some_dispute(Ask& ask, core::Send& send, Memory::Sent& sent);
  core::Command send_again(Ask& ask);
  std::vector<std::string> some_receivers();

  // receiving.cc: streams, and what is done about what was handed out.
  core::Command some_settling(Ask& ask);
  core::Command some_stream(uint64_t origin, Ask& ask);
  core::ResumeMark some_mark(Ask& ask);
  core::Target some_target(const Memory::Held& held);

  // groups.cc: sessions, locks and tasks.
  core::Command some_session(Ask& ask);
  core::Command some_lock(Ask& ask);
  core::Command some_move(Ask& ask);

  // admin.cc: what an admin does, and what nobody should.
  core::Command some_register(Ask& ask);
  core::Command some_rules(Ask& ask);
  core::Command some_resolve(Ask& ask);
  core::Command some_workspace(Ask& ask);
  core::Command nonsense(uint64_t origin, Ask& ask);

  Setting& setting_;
  std::deque<std::string> texts_;  // Of the command that was asked last.
  Memory memory_;
  std::string moderator_;         // The last one that was made,
  std::string former_moderator_;  // And the one before.
  uint64_t next_id_ = 1;
  uint64_t next_stream_ = 1;
};

}  // namespace parley::sim
