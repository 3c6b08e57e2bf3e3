// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.h"

#include <array>
#include <limits>

#include "sim/rule_choices.h"
#include "sim/workload/names.h"

namespace parley::sim {

using core::Command;

Command Workload::some_register(Ask& ask) {
  Random& random = setting_.random;
  const uint64_t n = random.below(agents);
  if (random.chance(150)) {
    ask.actor = random.chance(800) ? std::string(core::broker_name) : some_agent();
    return core::ResetLimits{keep(agent_name(n))};
  }
  ask.actor = random.chance(700)   ? std::string(core::broker_name)
              : random.chance(500) ? agent_name(n)
                                   : "admin";
  if (random.chance(250)) {
    return core::Unregister{keep(agent_name(n))};
  }
  core::Register command;
  command.name = keep(agent_name(n));
  command.dialect = random.chance(700) ? dialect_of(n) : dialect_of(random.below(dialects));
  constexpr std::array<core::PrincipalKind, 5> kinds = {
      core::PrincipalKind::agent, core::PrincipalKind::agent, core::PrincipalKind::agent,
      core::PrincipalKind::human, core::PrincipalKind::admin};
  command.kind = random.pick(kinds);
  if (command.kind == core::PrincipalKind::agent && command.dialect == core::Dialect::inbox) {
    constexpr std::array<std::string_view, 3> roles = {"director", "specialist", ""};
    command.role = random.pick(roles);
  }
  if (command.kind == core::PrincipalKind::agent && command.dialect == core::Dialect::squad) {
    command.role = random.chance(400) ? "reviewer" : random.chance(500) ? "subagent" : "main";
  }
  if (random.chance(300)) {
    command.token[0] = static_cast<uint8_t>(1 + random.below(12));
  }
  if (random.chance(300)) {
    command.rights.push_back(keep(random.chance(400)   ? "maintainer"
                                  : random.chance(800) ? "moderator"
                                                       : "owner"));
    const bool is_one = command.rights.front() == "moderator" &&
                        command.kind == core::PrincipalKind::human && ask.actor.empty();
    moderator_ = is_one ? std::string(command.name) : moderator_;
    if (command.rights.front() == "moderator") {
      command.rights.push_back("approver");
    }
  }
  if (next_id_ % 3 == 0) {
    command.webhook = keep(text("https://h{}.example/", next_id_ % 2));
    command.webhook_secret[0] = static_cast<uint8_t>(next_id_ / 3 % 3);
  }
  for (uint64_t left = random.chance(250) ? 1 + random.below(3) : 0; left > 0; --left) {
    command.subscriptions.push_back(random.chance(250) ? random.pick(patterns)
                                                       : random.pick(topics));
  }
  for (uint64_t left = random.below(4); left > 0; --left) {
    command.capabilities.push_back(keep(random.chance(700) ? "write" : "read"));
  }
  return command;
}

Command Workload::some_rules(Ask& ask) {
  Random& random = setting_.random;
  ask.actor = random.chance(950) ? std::string(core::broker_name) : some_agent();
  core::SetRules command;
  const bool first = texts_.empty() && next_id_ == 1;
  for (uint64_t left = first ? 12 : 1 + random.below(4); left > 0; --left) {
    const RuleChoice& choice = random.pick(rule_choices);
    command.values.emplace_back(choice.name, random.pick(choice.values));
  }
  if (first && random.chance(400)) {  // Else dead letters are retried for very long.
    command.values.emplace_back("dead_letter_tries_max", random.chance(500) ? "0" : "1");
    command.values.emplace_back("dead_letter_pass", "100ms");
    command.values.emplace_back("attempts_max", "1");
  }
  if (!first && random.chance(60)) {
    command.values.emplace_back("queue_maximum", "3");
  }
  if (!first && random.chance(60)) {
    command.values.emplace_back("attempts_max", "a lot");
  }
  return command;
}

Command Workload::some_resolve(Ask& ask) {
  Random& random = setting_.random;
  if (random.chance(150)) {
    return some_approval(ask);
  }
  if (random.chance(250)) {
    ask.actor = random.chance(850) ? std::string(core::broker_name) : some_agent();
    return core::ResolveEscalation{1 + random.below(20), keep(random.chance(900) ? "seen" : "")};
  }
  if (random.chance(100)) {
    ask.actor = random.chance(800) && !moderator_.empty() ? moderator_
                : random.chance(700)                      ? some_agent()
                                                          : "admin";
    return core::ResolveFlag{1 + random.below(5), keep(random.chance(900) ? "seen" : "")};
  }
  core::ResolveDeadLetter command;
  command.id = random.below(40);
  if (!memory_.dead_letters.empty() && random.chance(900)) {
    const auto& [workspace, id] = random.pick(memory_.dead_letters);
    ask.workspace = workspace;
    command.id = id;
  }
  ask.actor = random.chance(850) ? std::string(core::broker_name) : some_agent();
  constexpr std::array<core::Resolution, 8> resolutions = {
      core::Resolution::retried,   core::Resolution::retried, core::Resolution::retried,
      core::Resolution::retried,   core::Resolution::retried, core::Resolution::discarded,
      core::Resolution::escalated, core::Resolution::pending};
  command.resolution = random.pick(resolutions);
  return command;
}

Command Workload::some_workspace(Ask& ask) {
  Random& random = setting_.random;
  ask.actor = random.chance(800) ? std::string(core::broker_name) : some_agent();
  ask.workspace = core::workspace_first;
  core::AddWorkspace command;
  command.name = keep(text("space{}", random.below(3)));
  command.admin_token[1] = static_cast<uint8_t>(1 + random.below(100));
  return command;
}

// Values that no well-behaved edge lets through. Each must have an outcome.
Command Workload::nonsense(uint64_t origin, Ask& ask) {
  Random& random = setting_.random;
  const core::Duration below_zero{-1 - static_cast<int64_t>(random.below(1'000))};
  const core::Duration endless{std::numeric_limits<int64_t>::max()};
  const core::Target target{memory_.held.empty() ? core::Seq{1} : memory_.held.back().message, {}};
  ask.actor = memory_.held.empty() || random.chance(200) ? std::string(core::broker_name)
                                                         : memory_.held.back().receiver;
  core::Register bad;
  switch (random.below(12)) {
    case 0:
      return core::Nack{target, below_zero, {}};
    case 1:
      return core::Extend{target, below_zero};
    case 2:
      return core::Extend{target, endless};
    case 3:
      return core::Take{std::numeric_limits<uint32_t>::max()};
    case 4:
      return core::OpenStream{.stream = core::stream_none};
    case 5:
      return core::OpenStream{.stream = {origin, next_stream_++},
                              .window = std::numeric_limits<uint32_t>::max()};
    case 6:
      return core::Ack{.stream = {origin, 1}};
    case 7:
      ask.workspace = static_cast<core::WorkspaceId>(4'000'000'000);
      return core::Take{1};
    case 8:
      bad.name = keep(random.chance(500) ? "*" : std::string(5'000, 'n'));
      return bad;
    case 9:
      ask.actor = "ghost";
      return core::StartNode{keep(std::string(3, '\0'))};
    case 10: {
      core::Send send;
      send.envelope.sender = keep(ask.actor);
      send.envelope.id = random.chance(500) ? core::MessageId{} : new_id();
      send.envelope.ttl = random.chance(500) ? below_zero : endless;
      send.envelope.created = core::Time{std::numeric_limits<int64_t>::min()};
      send.envelope.receivers = {"", keep("topic:"), "*"};
      return send;
    }
    default: {
      core::Send send;
      send.envelope.sender = keep(ask.actor);
      send.envelope.id = new_id();
      send.envelope.receivers.assign(1 + random.below(3), keep(some_agent()));
      send.envelope.ttl = below_zero;
      send.envelope.confidence_ppm = std::numeric_limits<int32_t>::min();
      return send;
    }
  }
}

}  // namespace parley::sim
