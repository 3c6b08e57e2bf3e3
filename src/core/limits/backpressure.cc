// SPDX-License-Identifier: Apache-2.0
// How senders hear that they are near or beyond their limits, and that it is over.
#include <algorithm>

#include "core/delivery/dispatch.h"

namespace parley::core {

namespace {

constexpr Duration signal_pause = base::seconds(1);  // between two of the same level

}  // namespace

std::string_view backpressure_name(BackpressureLevel level) {
  switch (level) {
    case BackpressureLevel::eased:
      return "recovering";
    case BackpressureLevel::throttled:
      return "throttled";
    case BackpressureLevel::overloaded:
      return "overloaded";
  }
  return "unknown";
}

Duration Dispatch::mark() const {
  return Duration{Bucket::minute.us * static_cast<int64_t>(t_.rules.flow_rate_signal) / 100};
}

void Dispatch::signal_backpressure(MessageRef ref) {
  if (relief_ <= t_.now) {
    return;
  }
  const Message& message = t_.messages.message(ref);
  const uint64_t depth = t_.messages.throttled_of(message.sender);
  const bool much = depth * 100 >= t_.rules.flow_rate_throttled * t_.rules.flow_rate_signal;
  set_relief(message.sender, std::max(relief_, t_.agents[message.sender].backpressure.until));
  signal(message.sender, much ? BackpressureLevel::overloaded : BackpressureLevel::throttled,
         wait_of(ref));
}

void Dispatch::signal_overload(AgentRef sender) {
  signal(sender, BackpressureLevel::overloaded,
         t_.messages.passing_of(sender, t_.now).second - t_.now);
}

// Says it when it gets worse, and again when twice as much waits as was said last.
void Dispatch::signal(AgentRef ref, BackpressureLevel level, Duration delay) {
  Backpressure& backpressure = t_.agents[ref].backpressure;
  const uint64_t depth = t_.messages.throttled_of(ref);
  const bool broker_topics =
      level > backpressure.level || depth >= 2 * std::max<uint64_t>(1, backpressure.depth);
  if (!broker_topics || !tell_backpressure(ref, level, depth, delay)) {
    return;
  }
  backpressure.level = std::max(backpressure.level, level);
  backpressure.depth = depth;
}

bool Dispatch::tell_backpressure(AgentRef ref, BackpressureLevel level, uint64_t depth,
                                 Duration delay) {
  Agent& agent = t_.agents[ref];
  Time& told = agent.backpressure.told[static_cast<size_t>(level)];
  if (told + signal_pause > t_.now) {
    return false;
  }
  told = t_.now;
  owe({.kind = OutboxKind::backpressure,
       .to = agent.name,
       .priority = Priority::high,
       .facts = {{"status", std::string(backpressure_name(level))},
                 {"queue_depth", static_cast<int64_t>(depth)},
                 {"estimated_delay", base::rough(delay)}}});
  return true;
}

void Dispatch::set_relief(AgentRef ref, Time until) {
  Agent& agent = t_.agents[ref];
  t_.pressed.erase({agent.backpressure.until, agent.name});
  agent.backpressure.until = until;
  t_.pressed.insert({until, agent.name});
}

void Dispatch::relieve(AgentRef ref) {
  Agent& agent = t_.agents[ref];
  if (agent.backpressure.level == BackpressureLevel::eased || agent.backpressure.until > t_.now ||
      t_.messages.throttled_of(ref) > 0) {
    return;
  }
  if (!tell_backpressure(ref, BackpressureLevel::eased, 0, {})) {
    set_relief(ref, agent.backpressure.told[0] + signal_pause);
    return;
  }
  agent.backpressure.level = BackpressureLevel::eased;
  agent.backpressure.depth = 0;
}

void Dispatch::relieve_all() {
  for (size_t n = 0; n < due_max && !t_.pressed.empty() && t_.pressed.begin()->first <= t_.now;
       ++n) {
    const AgentRef ref = t_.agents.find(t_.pressed.begin()->second);
    t_.pressed.erase(t_.pressed.begin());
    if (ref != none) {
      relieve(ref);
    }
  }
}

}  // namespace parley::core
