// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.h"

#include <algorithm>
#include <array>

#include "sim/workload/names.h"

namespace parley::sim {

using core::Command;

std::vector<Ask> Workload::opening() {
  texts_.clear();
  std::vector<Ask> asks;
  Ask rules;
  rules.command = some_rules(rules);
  asks.push_back(std::move(rules));
  for (uint64_t n = 0; n + 3 < agents; ++n) {
    core::Register command;
    command.name = keep(agent_name(n));
    command.dialect = dialect_of(n);
    asks.push_back(Ask{core::workspace_first, {}, command});
  }
  return asks;
}

Ask Workload::next(uint64_t origin) {
  texts_.clear();
  Ask ask;
  ask.workspace = some_workspace_id();
  ask.actor = some_agent();
  ask.command = some_command(origin, ask);
  if (setting_.random.chance(15)) {
    ask.actor = "ghost";
  }
  return ask;
}

Command Workload::some_command(uint64_t origin, Ask& ask) {
  Random& random = setting_.random;
  if (random.chance(90)) {
    return random.chance(550) ? some_session(ask) : some_lock(ask);
  }
  if (random.chance(25)) {
    return some_move(ask);
  }
  if (!memory_.waiting.empty() && random.chance(120)) {
    return some_decision(ask);
  }
  const uint64_t roll = random.below(1'000);
  if (roll < 300) {
    return some_send(ask);
  }
  if (roll < 360) {
    return send_again(ask);
  }
  if (roll < 640) {
    return some_settling(ask);
  }
  if (roll < 740) {
    constexpr std::array<uint32_t, 6> counts = {1, 1, 2, 3, 8, 0};
    return core::Take{random.pick(counts)};
  }
  if (roll < 810) {
    return some_stream(origin, ask);
  }
  if (roll < 860) {
    return some_subscription();
  }
  if (roll < 900) {
    return some_register(ask);
  }
  if (roll < 920) {
    return some_rules(ask);
  }
  if (roll < 955) {
    return some_resolve(ask);
  }
  if (roll < 960) {
    return some_heartbeat();
  }
  return some_rare_command(roll, origin, ask);
}

Command Workload::some_rare_command(uint64_t roll, uint64_t origin, Ask& ask) {
  Random& random = setting_.random;
  if (random.chance(250)) {
    return core::CloseThread{keep(text("t{}", random.below(8)))};
  }
  if (roll < 963 && !memory_.held.empty()) {
    const Memory::Held& held = some_held();
    ask.workspace = held.workspace;
    ask.actor = random.chance(800) ? held.sender : some_agent();
    return core::StopWaiting{held.message};
  }
  if (random.chance(200)) {
    return some_flag();
  }
  if (random.chance(150)) {
    const std::string agent = random.chance(800) ? ask.actor : some_agent();
    return core::MarkAgentSession{keep(agent), random.chance(700)};
  }
  if (random.chance(350)) {
    return some_approval(ask);
  }
  if (roll < 969) {
    return core::Malformed{keep(std::string(random.chance(900) ? 10 : 5'000, 'm')), "wrong"};
  }
  return roll < 975 ? some_workspace(ask) : nonsense(origin, ask);
}

// Most are decided by the last who was made a moderator: those may approve, too. Where there is
// none yet, one is made.
Command Workload::some_approval(Ask& ask) {
  Random& random = setting_.random;
  if (moderator_.empty()) {
    return some_approver(ask);
  }
  if (memory_.asked.empty() || random.chance(350)) {
    core::AskApproval command;
    command.id = new_id();
    command.summary = "close it";
    command.text = keep(std::string(random.chance(950) ? 10 : 200'000, 'p'));
    command.digest[0] = random.chance(800) ? 0 : 1;
    command.needed = random.chance(800) ? 1 : 2;
    command.timeout = random.chance(500) ? base::seconds(1 + random.below(30)) : base::Duration{};
    if (random.chance(150)) {
      command.approvers.push_back(keep(moderator_));
    }
    return command;
  }
  core::DecideApproval command;
  const Memory::Waiting& asked = random.pick(memory_.asked);
  ask.workspace = random.chance(900) ? asked.workspace : ask.workspace;
  command.id = asked.approval;
  command.digest[0] = random.chance(800) ? 0 : 1;
  command.decision = random.chance(400) ? core::ApprovalDecision::approve
                                        : static_cast<core::ApprovalDecision>(random.below(4));
  command.modification = command.decision == core::ApprovalDecision::modify ? "less" : "";
  const bool withdraws = command.decision == core::ApprovalDecision::withdraw;
  ask.actor = withdraws || random.chance(200)                    ? some_agent()
              : !former_moderator_.empty() && random.chance(400) ? former_moderator_
              : random.chance(700)                               ? moderator_
                                                                 : "admin";
  return command;
}

Command Workload::some_approver(Ask& ask) {
  core::Register command;
  command.name = keep(agent_name(setting_.random.below(agents)));
  command.kind = core::PrincipalKind::human;
  command.rights = {"moderator", "approver", "maintainer"};
  former_moderator_ = moderator_;
  moderator_ = command.name;
  ask.actor = std::string(core::broker_name);
  return command;
}

// On a message that waits for people, mostly by one who may.
Command Workload::some_decision(Ask& ask) {
  Random& random = setting_.random;
  const size_t at = random.below(memory_.waiting.size());
  const Memory::Waiting waiting = memory_.waiting[at];
  ask.workspace = waiting.workspace;
  if (moderator_.empty() || random.chance(60)) {
    return some_approver(ask);
  }
  core::DecideApproval command;
  command.id = waiting.approval;
  command.digest = waiting.digest;
  command.digest[8] = static_cast<uint8_t>(command.digest[8] ^ (random.chance(50) ? 1 : 0));
  constexpr std::array<core::ApprovalDecision, 6> decisions = {
      core::ApprovalDecision::approve, core::ApprovalDecision::approve,
      core::ApprovalDecision::reject,  core::ApprovalDecision::reject,
      core::ApprovalDecision::modify,  core::ApprovalDecision::withdraw};
  command.decision = random.pick(decisions);
  command.modification = command.decision == core::ApprovalDecision::modify ? "less" : "";
  const bool withdraws = command.decision == core::ApprovalDecision::withdraw;
  ask.actor = random.chance(50) ? some_agent() : withdraws ? waiting.sender : moderator_;
  if (random.chance(700)) {  // Else it is decided again.
    memory_.waiting.erase(memory_.waiting.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return command;
}

// Hashes are zero, so that most go on from the one before.
Command Workload::some_flag() {
  Random& random = setting_.random;
  core::RaiseFlag command;
  command.id = new_id();
  command.id.bytes[1] = static_cast<uint8_t>(random.below(4));
  command.id.bytes[15] = static_cast<uint8_t>(random.chance(100) ? 0 : command.id.bytes[15]);
  command.text = keep(std::string(random.chance(900) ? 10 : 200'000, 'f'));
  command.summary = "rude";
  command.digest[0] = static_cast<uint8_t>(random.below(4));
  command.previous[0] = random.chance(50) ? 1 : 0;
  return command;
}

Command Workload::some_subscription() {
  Random& random = setting_.random;
  std::string topic(random.chance(250) ? random.pick(patterns) : random.pick(topics));
  topic = topic.starts_with("topic:") ? topic.substr(6) : topic;
  // Sometimes it is for another agent, which only the owners of topics may do.
  const std::string_view agent =
      random.chance(200) ? keep(agent_name(random.below(agents))) : std::string_view{};
  if (random.chance(300)) {
    return core::Unsubscribe{keep(std::move(topic)), agent};
  }
  return core::Subscribe{keep(random.chance(30) ? std::string() : std::move(topic)), agent};
}

Command Workload::some_heartbeat() {
  Random& random = setting_.random;
  return core::Heartbeat{keep(random.chance(500)   ? std::string("busy")
                              : random.chance(600) ? std::string("idle")
                              : random.chance(500) ? std::string("offline")
                                                   : std::string(5'000, 's')),
                         {},
                         random.chance(300) ? random.below(30) : 0,
                         random.chance(300)};
}

std::string_view Workload::keep(std::string text) { return texts_.emplace_back(std::move(text)); }

core::MessageId Workload::new_id() {
  core::MessageId id;
  const uint64_t n = next_id_++;
  for (size_t at = 0; at < 8; ++at) {
    id.bytes[15 - at] = static_cast<uint8_t>(n >> (8 * at));
  }
  id.bytes[0] = 7;
  return id;
}

std::string Workload::some_agent() {
  return agent_name(setting_.random.below(setting_.random.chance(800) ? agents - 3 : agents));
}

// It is mostly one that was handed out not long ago.
const Memory::Held& Workload::some_held() {
  const uint64_t one = setting_.random.below(memory_.held.size());
  const uint64_t other = setting_.random.below(memory_.held.size());
  return memory_.held[std::max(one, other)];
}

core::WorkspaceId Workload::some_workspace_id() {
  return setting_.random.chance(850)
             ? core::workspace_first
             : static_cast<core::WorkspaceId>(setting_.random.below(memory_.workspaces));
}

}  // namespace parley::sim
