// SPDX-License-Identifier: Apache-2.0
#include "edge/signs_of_life.h"

#include <algorithm>

#include "core/agents/presence.h"
#include "edge/api/context.h"

namespace parley::edge {

namespace {

// How often a call is written down as a sign of life. Each is an entry of the journal, so there are
// few of them: four before the agent would count as silent, so that one or two may be late. Where
// silence never counts (no patience), the signs only keep `last_seen` up to date, as often as the
// heartbeats that agents are asked for.
Duration sign_interval(const core::Rules& rules) {
  const Duration patience = core::presence::patience(rules);
  return patience.us == 0 ? rules.collab_heartbeat
                          : Duration{std::max<int64_t>(patience.us / 4, 1)};
}

}  // namespace

void SignsOfLife::note(const Principal& caller) {
  const core::Tables& t = context_.tables(caller.workspace);
  const core::Agent& agent = t.agents[caller.ref];
  if (agent.kind != core::PrincipalKind::agent || !agent.streams.empty()) {
    return;
  }
  base::Time& signed_at = called_[{caller.workspace, caller.ref}];
  const base::Time now = context_.clock.now();
  if (std::max(signed_at, agent.seen) + sign_interval(t.rules) > now && !agent.presence.is_away()) {
    return;
  }
  signed_at = now;
  context_.ask(caller, core::Heartbeat{.only_seen = true});
}

void SignsOfLife::keep(const Principal& caller) {
  if (kept_.emplace(caller.workspace, caller.ref, caller.token).second) {
    keep_on(caller);
  }
}

void SignsOfLife::keep_on(const Principal& caller) {
  const core::Tables& t = context_.tables(caller.workspace);
  context_.waits.add(context_.clock.now() + sign_interval(t.rules), [this, caller] {
    if (context_.server->held_by(caller_id(caller)).waits > 0 &&
        is_current(context_.broker.machine(), caller)) {
      note(caller);
      keep_on(caller);
    } else {
      kept_.erase({caller.workspace, caller.ref, caller.token});
    }
  });
}

}  // namespace parley::edge
