// SPDX-License-Identifier: Apache-2.0
#include "core/agents/presence.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/time.h"
#include "core/agents/hub.h"
#include "core/delivery/redelivery.h"
#include "core/model/refusal.h"
#include "core/requests/answers.h"
#include "core/topics/broker_topics.h"

namespace parley::core::presence {

namespace {

void announce(Dispatch& dispatch, AgentRef ref, Presence::Standing standing) {
  Tables& t = dispatch.t;
  Presence& presence = t.agents[ref].presence;
  if (presence.standing == standing) {
    return;
  }
  presence.standing = standing;
  presence.unanswered = 0;
  switch (standing) {
    case Presence::Standing::unknown:
      return;
    case Presence::Standing::online:
      return tell(dispatch, ref, "online");
    case Presence::Standing::unavailable:
      return tell(dispatch, ref, "unavailable");
    case Presence::Standing::offline:
      return tell(dispatch, ref, "offline");
  }
}

void disarm(Tables& t, AgentRef ref) {
  Agent& agent = t.agents[ref];
  t.silences.remove(agent.presence.due, agent.name);
  agent.presence.due = {};
}

// At whole seconds, so that many share a tick.
void arm(Tables& t, AgentRef ref, Time at) {
  disarm(t, ref);
  constexpr int64_t unit = 1'000'000;
  Agent& agent = t.agents[ref];
  agent.presence.due = Time{(at.us + unit - 1) / unit * unit};
  t.silences.add(agent.presence.due, agent.name);
}

// What was put off. Its turn was booked when that was done.
void tell_untold(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (size_t n = 0; n < due_max && t.untold.next() <= t.now; ++n) {
    const AgentRef ref = t.agents.find(t.untold.take());
    Presence& presence = t.agents[ref].presence;
    const std::string status = std::exchange(presence.untold, {});
    presence.untold_due = {};
    broker_topics::availability(dispatch, ref, status);
  }
}

// How presence knows a sender; never 0.
uint64_t key_of(const Agent& agent) { return Exchanges::name_of(agent.name); }

bool can(const Agent& agent, std::string_view capability) {
  return std::ranges::find(agent.capabilities, capability) != agent.capabilities.end();
}

// Those who have the one of these capabilities that fewest have; nobody where there are none.
const Directory::Refs& fewest_with(const Directory& directory,
                                   const std::vector<std::string>& capabilities) {
  static const Directory::Refs nobody;
  const Directory::Refs* fewest = nullptr;
  for (const std::string& capability : capabilities) {
    const Directory::Refs& refs = directory.with_capability(capability);
    fewest = fewest == nullptr || refs.size() < fewest->size() ? &refs : fewest;
  }
  return fewest == nullptr ? nobody : *fewest;
}

// Of equals the first by name.
bool is_less_busy(const Agent& a, const Agent& b) {
  return std::tie(a.inbox.unsettled, a.name) < std::tie(b.inbox.unsettled, b.name);
}

}  // namespace

Duration patience(const Rules& rules) {
  return Duration{rules.collab_heartbeat.us * static_cast<int64_t>(rules.collab_heartbeats_missed)};
}

void heard_from(Dispatch& dispatch, AgentRef ref) {
  Tables& t = dispatch.t;
  announce(dispatch, ref, Presence::Standing::online);
  if (t.agents[ref].presence.since.us != 0) {
    expect(t, ref);
  }
  if (retry_all(t, ref)) {
    dispatch.pump(ref);
  }
}

void connected(Dispatch& dispatch, AgentRef ref) {
  Tables& t = dispatch.t;
  announce(dispatch, ref, Presence::Standing::online);
  retry_all(t, ref);
}

void expect(Tables& t, AgentRef ref) {
  Agent& agent = t.agents[ref];
  agent.presence.since = t.now;
  if (agent.presence.due.us == 0 && patience(t.rules).us > 0) {
    arm(t, ref, t.now + patience(t.rules));
  }
}

// Who had too little time, or was heard of meanwhile, is there.
void unanswered(Dispatch& dispatch, MessageRef request, Duration timeout) {
  Tables& t = dispatch.t;
  const AgentRef ref = asked_alone(t, request);
  if (ref == none || timeout < t.rules.answer_time_min ||
      t.agents[ref].kind != PrincipalKind::agent || t.agents[ref].is_offline() ||
      t.agents[ref].seen + timeout > t.now) {
    return;
  }
  Presence& presence = t.agents[ref].presence;
  const uint64_t sender = key_of(t.agents[t.messages.message(request).sender]);
  if (presence.standing != Presence::Standing::unavailable) {
    announce(dispatch, ref, Presence::Standing::unavailable);
    presence.unanswered = sender;
  } else if (presence.unanswered != sender) {
    presence.unanswered = 0;
  }
}

bool is_available_to(const Tables& t, AgentRef ref, AgentRef asker) {
  const Agent& agent = t.agents[ref];
  return agent.is_available() ||
         (!agent.is_offline() && asker != none && agent.presence.unanswered != 0 &&
          agent.presence.unanswered != key_of(t.agents[asker]));
}

void tell(Dispatch& dispatch, AgentRef ref, std::string_view status) {
  Tables& t = dispatch.t;
  Agent& agent = t.agents[ref];
  if (agent.presence.untold_due.us != 0) {
    agent.presence.untold = status;
    return;
  }
  const uint64_t per_min = t.rules.availability_news;
  const bool counts = agent.kind == PrincipalKind::agent && per_min > 0 &&
                      t.topics.is_heard(broker_topics::availability_topic);
  const Time at =
      counts ? t.buckets.at(Buckets::news(agent.name), t.now).take(t.now, cost_of(1, per_min))
             : t.now;
  if (at <= t.now) {
    broker_topics::availability(dispatch, ref, status);
    return;
  }
  agent.presence.untold = status;
  agent.presence.untold_due = at;
  t.untold.add(at, agent.name);
}

void forget(Tables& t, AgentRef ref) {
  disarm(t, ref);
  t.untold.remove(t.agents[ref].presence.untold_due, t.agents[ref].name);
  t.agents[ref].presence = {};
}

Time due(const Tables& t) { return std::min(t.silences.next(), t.untold.next()); }

void advance(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  tell_untold(dispatch);
  for (size_t n = 0; n < due_max && t.silences.next() <= t.now; ++n) {
    const AgentRef ref = t.agents.find(t.silences.take());
    t.agents[ref].presence.due = {};
    const Agent& agent = t.agents[ref];
    if (!agent.streams.empty()) {
      continue;  // it counts from when it loses them
    }
    const Time silent = std::max(agent.seen, agent.presence.since) + patience(t.rules);
    if (silent > t.now) {
      arm(t, ref, silent);
    } else {
      announce(dispatch, ref, Presence::Standing::offline);
    }
  }
}

void begin_anew(Tables& t) {
  t.silences.clear();
  for (const AgentRef ref : t.agents.sorted()) {
    Presence& presence = t.agents[ref].presence;
    presence.due = {};
    const bool counts = presence.since.us != 0 && presence.standing != Presence::Standing::offline;
    if (counts && patience(t.rules).us > 0) {
      arm(t, ref, std::max(t.agents[ref].seen, presence.since) + patience(t.rules));
    }
  }
}

std::string why_away(const Agent& agent) {
  return quoted(agent.name) +
         (agent.is_offline() ? " is offline"
                             : " did not answer its last request, and was not heard of since") +
         (agent.seen.us == 0 ? std::string()
                             : " (last heard of at " + base::format_time(agent.seen) + ")");
}

AgentRef stand_in(const Tables& t, AgentRef away, AgentRef sender, std::string_view action,
                  const Session* session, std::span<const AgentRef> receivers) {
  std::vector<std::string> needed = t.agents[away].capabilities;
  if (can(t.agents[away], action)) {
    needed = {std::string(action)};
  }
  AgentRef best = none;
  for (const AgentRef ref : fewest_with(t.agents.directory(), needed)) {
    const Agent& agent = t.agents[ref];
    const bool fits =
        agent.kind == PrincipalKind::agent && ref != away && ref != sender &&
        agent.role != "observer" && (session == nullptr || session->has(agent.name)) &&
        may_write_to(t, sender, ref) && is_available_to(t, ref, sender) &&
        t.has_room(ref, sender) && (best == none || is_less_busy(agent, t.agents[best])) &&
        std::ranges::all_of(
            needed, [&](const std::string& capability) { return can(agent, capability); }) &&
        std::ranges::find(receivers, ref) == receivers.end();  // the longest look comes last
    if (fits) {
      best = ref;
    }
  }
  return best;
}

}  // namespace parley::core::presence
