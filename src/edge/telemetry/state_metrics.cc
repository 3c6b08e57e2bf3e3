// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/state_metrics.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/agents/hub.h"
#include "edge/render.h"
#include "edge/telemetry/histogram.h"

namespace parley::edge {

namespace {

// The deliveries that wait in all inboxes.
struct Depth {
  uint64_t open = 0;
  std::array<uint64_t, core::priority_count> by_priority{};
  base::Time oldest = base::time_max;
};

Depth measure_depth(const core::Machine& machine) {
  Depth depth;
  for (const auto& [id, workspace] : machine.workspaces()) {
    const core::Messages& messages = workspace.tables().messages;
    for (size_t n = 0; n < depth.by_priority.size(); ++n) {
      depth.open += messages.open.by_priority()[n];
      depth.by_priority[n] += messages.open.by_priority()[n];
    }
    depth.oldest = std::min(depth.oldest, messages.open.oldest());
  }
  return depth;
}

void tell_depth(const Depth& depth, base::Time now, lib::MetricRegistry& registry) {
  registry.gauge("parley_queue_depth", "Deliveries that are not settled.",
                 static_cast<double>(depth.open));
  for (size_t n = 0; n < depth.by_priority.size(); ++n) {
    registry.gauge("queue_depth", "Deliveries that are not settled, by priority.",
                   static_cast<double>(depth.by_priority[n]),
                   {{"priority", std::string(word_of(static_cast<core::Priority>(n)))}});
  }
  registry.gauge("parley_queue_oldest_seconds", "Age of the oldest unsettled message.",
                 depth.open == 0 ? 0 : seconds_of(now - depth.oldest));
}

// What all workspaces hold together.
struct Holdings {
  uint64_t agents = 0;
  uint64_t messages = 0;
  uint64_t topics = 0;
  uint64_t streams = 0;
  uint64_t pending = 0;
  uint64_t dropped = 0;
  uint64_t owed = 0;
  uint64_t unsent = 0;
  uint64_t unheard = 0;
  uint64_t alerts = 0;
  uint64_t threads = 0;
  uint64_t active = 0;
  uint64_t waiting = 0;
  uint64_t escalated = 0;
  uint64_t throttled = 0;
  uint64_t present = 0;
  uint64_t sessions = 0;
  uint64_t locks = 0;
  uint64_t edges = 0;
  // Of registered agents, by the code of the refusal.
  std::map<std::string, uint64_t> violations{};
  std::array<uint64_t, 3> breakers{};
};

void add(const core::Tables& t, base::Time now, Holdings& sum) {
  sum.throttled += t.messages.gates.throttled();
  t.agents.each([&](const core::Agent& agent) {
    const auto breaker = agent.breaker.state(now, t.rules.breaker_pause);
    sum.breakers[static_cast<size_t>(breaker)] += agent.is_registered() ? 1 : 0;
    const bool is_there =
        agent.is_registered() && agent.kind == core::PrincipalKind::agent && !agent.is_offline();
    sum.present += is_there ? 1 : 0;
    for (const auto& [code, count] : agent.violations.kinds) {
      sum.violations[code] += count;
    }
  });
  sum.agents += t.agents.registered();
  sum.messages += t.messages.size();
  sum.topics += t.topics.by_name().size();
  sum.streams += t.streams.size();
  sum.dropped += t.dead_letters.dropped();
  sum.owed += t.outbox.size();
  sum.unsent += t.outbox.dropped + t.outbox.refused;
  sum.unheard += t.broadcasts.unheard;
  sum.alerts += t.dead_letters.alerts();
  sum.threads += t.threads.size();
  sum.active += t.threads.count(core::Threads::Standing::active);
  sum.waiting += t.pending.requests().size();
  sum.escalated += t.escalations.open();
  sum.sessions += t.sessions.live();
  sum.locks += t.locks.size();
  sum.edges += t.wait_graph.size();
  sum.pending += t.dead_letters.pending();
}

}  // namespace

void tell_state(const core::Machine& machine, base::Time now, lib::MetricRegistry& registry) {
  Holdings sum;
  for (const base::Code code : core::violation_codes) {
    sum.violations[std::string(base::info(code).name)] = 0;
  }
  for (const auto& [id, workspace] : machine.workspaces()) {
    add(workspace.tables(), now, sum);
  }
  tell_depth(measure_depth(machine), now, registry);
  const auto gauge = [&registry](const char* name, const char* help, uint64_t value) {
    registry.gauge(name, help, static_cast<double>(value));
  };
  gauge("active_agents", "Registered agents that are not offline.", sum.present);
  gauge("parley_workspaces", "Workspaces.", machine.workspaces().size());
  gauge("parley_agents", "Registered agents, people and admins.", sum.agents);
  gauge("parley_topics", "Topics.", sum.topics);
  gauge("parley_streams", "Open streams that messages are pushed to.", sum.streams);
  gauge("parley_messages", "Messages that the engine knows, settled ones included.", sum.messages);
  gauge("parley_throttled", "Messages that wait for a rate limit.", sum.throttled);
  for (size_t n = 0; n < sum.breakers.size(); ++n) {
    registry.gauge(
        "parley_breakers", "Circuit breakers of receivers, by state.",
        static_cast<double>(sum.breakers[n]),
        {{"state", std::string(core::breaker_name(static_cast<core::Breaker::State>(n)))}});
  }
  gauge("parley_dead_letters_pending", "Dead letters that nobody has resolved.", sum.pending);
  registry.counter("parley_dead_letters_dropped_total", "Dead letters that had to go for others.",
                   static_cast<double>(sum.dropped));
  gauge("parley_notices_owed", "Messages of the broker's own that it has still to send.", sum.owed);
  registry.counter("parley_notices_unsent_total", "Messages of the broker's own that it gave up.",
                   static_cast<double>(sum.unsent));
  registry.counter("parley_broadcasts_unheard_total",
                   "Deliveries of broadcasts that were not persisted and not acknowledged.",
                   static_cast<double>(sum.unheard));
  registry.counter("parley_dead_letter_alerts_total",
                   "Times that many dead letters in a short time raised an alarm.",
                   static_cast<double>(sum.alerts));
  gauge("parley_threads", "Conversations that the engine remembers, closed ones included.",
        sum.threads);
  gauge("parley_threads_active", "Conversations with a request that is not answered.", sum.active);
  gauge("parley_requests_waiting", "Requests and roll calls that someone waits for.", sum.waiting);
  gauge("parley_sessions", "Sessions that are not over.", sum.sessions);
  gauge("parley_locks", "Locks that someone holds.", sum.locks);
  gauge("parley_waits", "Requests whose sender counts as waiting for their receiver.", sum.edges);
  gauge("parley_escalations_open", "Escalations that no human has resolved.", sum.escalated);
  for (const auto& [code, count] : sum.violations) {
    registry.gauge("parley_protocol_violations",
                   "Messages of registered agents that were refused and counted as violations of "
                   "their protocol, by code.",
                   static_cast<double>(count), {{"code", code}});
  }
  gauge("parley_seq", "Place of the newest entry of the journal.", machine.seq().n);
}

}  // namespace parley::edge
