// SPDX-License-Identifier: Apache-2.0
#include "core/agents/agents_snapshot.h"

#include "core/machine/snapshot_fields.h"
#include "core/machine/tables.h"

namespace parley::core {

void encode_agents(const Tables& t, SnapshotWriter& out) { out.rows(out.agents, t.agents); }

void decode_agents(Tables& t, SnapshotReader& in) {
  in.rows<Agent>([&](Agent& agent) {
    if (t.agents.find(agent.name) != none || (!agent.is_registered() && !agent.tokens.empty())) {
      return false;
    }
    if (agent.presence.due.us != 0) {
      t.silences.add(agent.presence.due, agent.name);
    }
    if (agent.presence.untold_due.us != 0) {
      t.untold.add(agent.presence.untold_due, agent.name);
    }
    if (agent.violations.untold > 0) {
      t.violated.add(agent.violations.due(), agent.name);
    }
    in.agents.push_back(t.agents.restore(std::move(agent)));
    return true;
  });
}

}  // namespace parley::core
