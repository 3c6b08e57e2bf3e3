// SPDX-License-Identifier: Apache-2.0
// How senders hear that they are near or beyond their limits, and that it is over.
#include "core/limits/backpressure_acts.h"

#include <algorithm>

#include "core/limits/rate_limit.h"
#include "core/outbox/outbox_acts.h"

namespace parley::core {

namespace {

constexpr Duration signal_pause = base::seconds(1);  // between two of the same level

bool tell_backpressure(Dispatch& dispatch, AgentRef ref, BackpressureLevel level, uint64_t depth,
                       Duration delay) {
  Tables& t = dispatch.t;
  Agent& agent = t.agents[ref];
  Time& told = agent.backpressure.told[static_cast<size_t>(level)];
  if (told + signal_pause > t.now) {
    return false;
  }
  told = t.now;
  owe(dispatch, {.kind = OutboxKind::backpressure,
                 .to = agent.name,
                 .priority = Priority::high,
                 .facts = {{"status", std::string(backpressure_name(level))},
                           {"queue_depth", static_cast<int64_t>(depth)},
                           {"estimated_delay", base::rough(delay)}}});
  return true;
}

// Says it when it gets worse, and again when twice as much waits as was said last.
void signal_level(Dispatch& dispatch, AgentRef ref, BackpressureLevel level, Duration delay) {
  Tables& t = dispatch.t;
  Backpressure& backpressure = t.agents[ref].backpressure;
  const uint64_t depth = t.messages.gates.throttled_of(ref);
  const bool is_worse =
      level > backpressure.level || depth >= 2 * std::max<uint64_t>(1, backpressure.depth);
  if (!is_worse || !tell_backpressure(dispatch, ref, level, depth, delay)) {
    return;
  }
  backpressure.level = std::max(backpressure.level, level);
  backpressure.depth = depth;
}

void set_relief(Tables& t, AgentRef ref, Time until) {
  Agent& agent = t.agents[ref];
  t.pressed.remove(agent.backpressure.until, agent.name);
  agent.backpressure.until = until;
  t.pressed.add(until, agent.name);
}

}  // namespace

Duration signal_mark(const Tables& t) {
  return Duration{Bucket::minute.us * static_cast<int64_t>(t.rules.flow_rate_signal) / 100};
}

Time relief_due(const Tables& t) { return t.pressed.next(); }

void forget_relief(Tables& t, AgentRef sender) {
  t.pressed.remove(t.agents[sender].backpressure.until, t.agents[sender].name);
}

void relieve_all(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (size_t n = 0; n < due_max && t.pressed.next() <= t.now; ++n) {
    const AgentRef ref = t.agents.find(t.pressed.take());
    if (ref != none) {
      relieve(dispatch, ref);
    }
  }
}

void relieve_drained(Dispatch& dispatch) {
  for (const AgentRef sender : dispatch.t.messages.gates.take_drained()) {
    relieve(dispatch, sender);
  }
}

void relieve(Dispatch& dispatch, AgentRef ref) {
  Tables& t = dispatch.t;
  Agent& agent = t.agents[ref];
  if (agent.backpressure.level == BackpressureLevel::eased || agent.backpressure.until > t.now ||
      t.messages.gates.throttled_of(ref) > 0) {
    return;
  }
  if (!tell_backpressure(dispatch, ref, BackpressureLevel::eased, 0, {})) {
    set_relief(t, ref, agent.backpressure.told[0] + signal_pause);
    return;
  }
  agent.backpressure.level = BackpressureLevel::eased;
  agent.backpressure.depth = 0;
}

void signal_backpressure(Dispatch& dispatch, MessageRef ref, Time relief) {
  Tables& t = dispatch.t;
  if (relief <= t.now) {
    return;
  }
  const Message& message = t.messages.message(ref);
  const uint64_t depth = t.messages.gates.throttled_of(message.sender);
  const bool much = depth * 100 >= t.rules.flow_rate_throttled * t.rules.flow_rate_signal;
  set_relief(t, message.sender, std::max(relief, t.agents[message.sender].backpressure.until));
  signal_level(dispatch, message.sender,
               much ? BackpressureLevel::overloaded : BackpressureLevel::throttled,
               delay_of(t, ref));
}

void signal_overload(Dispatch& dispatch, AgentRef sender) {
  Tables& t = dispatch.t;
  signal_level(dispatch, sender, BackpressureLevel::overloaded,
               t.messages.gates.passing_of(sender, t.now).second - t.now);
}

}  // namespace parley::core
