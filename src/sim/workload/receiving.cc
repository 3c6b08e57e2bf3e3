// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.h"

#include <algorithm>
#include <array>
#include <utility>

namespace parley::sim {

using core::Command;

Command Workload::some_settling(Ask& ask) {
  Random& random = setting_.random;
  if (memory_.held.empty()) {
    return core::Take{1};
  }
  const Memory::Held& held = some_held();
  const core::Target target = some_target(held);
  ask.actor = held.receiver;
  ask.workspace = held.workspace;
  const uint64_t roll = random.below(100);
  if (roll < 45) {
    core::Ack ack{.target = target};
    if (random.chance(300) && held.stream != core::stream_none) {
      ack = core::Ack{.stream = held.stream, .upto = held.mark};
      ack.upto.number += random.chance(50) ? 1U : 0U;
    }
    return ack;
  }
  if (roll < 68) {
    constexpr std::array<int64_t, 4> delays_ms = {0, 0, 150, 1'500};
    return core::Nack{target, base::milliseconds(random.pick(delays_ms)),
                      keep(random.chance(500) ? "not now, thank you" : ""), roll % 4 != 0};
  }
  if (roll < 78) {
    return core::Reject{target, keep("cannot read it")};
  }
  if (roll < 88) {
    constexpr std::array<int64_t, 4> leases_ms = {0, 50, 1'000, 600'000};
    return core::Extend{target, base::milliseconds(random.pick(leases_ms))};
  }
  return core::Read{target,
                    random.chance(400) ? std::optional(core::Dialect::inbox) : std::nullopt};
}

Command Workload::some_stream(uint64_t origin, Ask& ask) {
  Random& random = setting_.random;
  const std::optional<Memory::Held> back =
      random.chance(700) ? std::exchange(memory_.cut_off, {}) : std::nullopt;
  if (back || random.chance(500) || memory_.streams.empty()) {
    core::OpenStream open{.stream = {random.chance(970) ? origin : origin + 1, next_stream_++}};
    constexpr std::array<uint32_t, 6> windows = {1, 2, 3, 5, 20, 0};
    open.window = random.pick(windows);
    if (back) {
      open.after = back->mark;
      ask.actor = back->receiver;
      ask.workspace = back->workspace;
    } else if (random.chance(600)) {
      open.after = some_mark(ask);
    }
    memory_.streams.push_back({ask.workspace, ask.actor, open.stream});
    if (constexpr size_t opened_max = 16; memory_.streams.size() > opened_max) {
      memory_.streams.pop_front();
    }
    return open;
  }
  // It is often the newest, of an agent whose connection is lost again and again.
  const Memory::OpenStream& opened = random.chance(400)
                                         ? memory_.streams.back()
                                         : memory_.streams[random.below(memory_.streams.size())];
  const auto held =
      std::find_if(memory_.held.rbegin(), memory_.held.rend(),
                   [&](const Memory::Held& each) { return each.stream == opened.stream; });
  if (held != memory_.held.rend()) {
    memory_.cut_off = *held;
  }
  ask.actor = random.chance(200) ? std::string(core::broker_name) : opened.agent;
  ask.workspace = opened.workspace;
  if (random.chance(100)) {
    return core::OpenStream{.stream = opened.stream, .window = 2};
  }
  return core::CloseStream{opened.stream};
}

// Mostly the mark of an agent that was pushed to, and that says that it saw all until then.
core::ResumeMark Workload::some_mark(Ask& ask) {
  Random& random = setting_.random;
  if (memory_.held.empty()) {
    return {};
  }
  const Memory::Held& held = some_held();
  core::ResumeMark mark = held.mark;
  if (mark.stream != 0 && random.chance(900)) {
    ask.actor = held.receiver;
    ask.workspace = held.workspace;
  }
  mark.stream += random.chance(50) ? 1U : 0U;
  mark.number -= mark.number > 0 && random.chance(300) ? 1U : 0U;
  return mark;
}

core::Target Workload::some_target(const Memory::Held& held) {
  if (setting_.random.chance(20)) {
    return core::Target{core::Seq{setting_.random.below(2'000)}, {}};
  }
  return setting_.random.chance(500) ? core::Target{held.message, {}} : core::Target{{}, held.id};
}

}  // namespace parley::sim
