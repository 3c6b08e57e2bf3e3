// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.h"

#include <algorithm>
#include <array>

#include "sim/workload/names.h"

namespace parley::sim {

using core::Command;

// There are few sessions and few agents, so that they meet.
Command Workload::some_session(Ask& ask) {
  Random& random = setting_.random;
  const std::string_view id = keep(text("s{}", random.below(3)));
  ask.workspace = core::workspace_first;
  ask.actor = agent_name(random.below(random.chance(900) ? 4 : agents));
  const auto waits = std::ranges::find_if(memory_.sent, [this](const Memory::Sent& sent) {
    return !memory_.paused_session.empty() && sent.session == memory_.paused_session;
  });
  if (waits != memory_.sent.end() && random.chance(200)) {
    ask.actor = waits->receivers.front();
    return core::Read{core::Target{{}, waits->id}};
  }
  if (random.chance(250)) {
    core::StartSession start;
    start.id = random.chance(970) ? id : keep(std::string(5'000, 's'));
    for (uint64_t n = 0; n < 4; ++n) {
      if (random.chance(850)) {
        start.participants.push_back(keep(agent_name(random.chance(970) ? n : agents - 1)));
      }
    }
    start.task = "{}";
    return start;
  }
  core::ChangeSession change;
  change.id = id;
  constexpr std::array<core::SessionAct, 14> acts = {
      core::SessionAct::add_decision,    core::SessionAct::add_artifact,
      core::SessionAct::add_finding,     core::SessionAct::add_decision,
      core::SessionAct::add_participant, core::SessionAct::remove_participant,
      core::SessionAct::pause,           core::SessionAct::pause,
      core::SessionAct::pause,           core::SessionAct::pause,
      core::SessionAct::resume,          core::SessionAct::add_finding,
      core::SessionAct::complete,        core::SessionAct::fail};
  change.act = random.pick(acts);
  change.version = random.chance(500) ? 0 : 1 + random.below(8);
  change.subject = keep(agent_name(random.below(5)));
  change.body = keep(text("body {}", random.below(1'000)));
  if (!core::is_entry(change.act) && random.chance(300)) {
    ask.actor = std::string(core::broker_name);
  }
  return change;
}

Command Workload::some_lock(Ask& ask) {
  Random& random = setting_.random;
  ask.workspace = core::workspace_first;
  ask.actor = agent_name(random.below(random.chance(900) ? 4 : agents));
  const std::string_view name = keep(text("l{}", random.below(4)));
  if (random.chance(250)) {
    return core::ReleaseLock{name, core::Seq{random.chance(900) ? 0 : random.below(500)}};
  }
  constexpr std::array<int64_t, 4> leases_ms = {0, 0, 500, 20'000};
  constexpr std::array<int64_t, 4> waits_ms = {0, 0, 200, 5'000};
  core::TakeLock take{name, base::milliseconds(random.pick(leases_ms)),
                      base::milliseconds(random.pick(waits_ms))};
  if (next_id_ % 5 == 0) {
    take.fence = core::Seq{};
  } else if (next_id_ % 5 == 1 && !memory_.lock.name.empty()) {
    take.name = keep(memory_.lock.name);
    ask.actor = memory_.lock.agent;
    take.fence = memory_.lock.fence;
  }
  return take;
}

// By the agent that gave it, or by the broker, which may move all.
Command Workload::some_move(Ask& ask) {
  Random& random = setting_.random;
  ask.workspace = core::workspace_first;
  ask.actor = random.chance(600) ? std::string(core::broker_name)
                                 : agent_name(random.below(random.chance(900) ? 3 : agents));
  core::ReassignTask move;
  move.task = keep(text("k{}", random.below(4)));
  move.to = keep(some_agent());
  move.director = random.chance(500) ? keep(agent_name(random.below(3))) : std::string_view{};
  return move;
}

}  // namespace parley::sim
