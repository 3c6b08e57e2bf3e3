// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/agents/work.h"
#include "lib/json_writer.h"

namespace parley::edge {

// Writes what the broker saw of an agent's work in the last hour and, beside it, what the agent
// said in its newest report (SP-10), of which `report` is the body; empty: it said nothing, or it
// can no longer be read. `differs` names the figures in which they are not the same.
void render_health(const core::Work& work, base::Time now, std::string_view report,
                   lib::JsonWriter& out);

}  // namespace parley::edge
