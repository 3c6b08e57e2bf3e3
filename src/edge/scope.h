// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/agents/agent.h"
#include "edge/api/members.h"
#include "lib/json_writer.h"

namespace parley::edge {

// The scope of an agent that does only what was approved beforehand, as people write it: `{"to":
// ["agent:main:main", "agent:main:subagent:*"], "types": ["query"]}`. Types are the words of its
// dialect; without them it is all.

struct WantedScope {
  std::vector<std::string_view> receivers;
  uint64_t kinds = 0;
};

// The member `scope` of `body`; what the agent had `before`, where it is left out; nothing where it
// is null. Blames what is wrong in it.
WantedScope scope_in(Members& body, const core::Agent* before, core::Dialect dialect);

// Writes the member, where the agent has a scope.
void render_scope(const core::Agent& agent, lib::JsonWriter& out);

}  // namespace parley::edge
