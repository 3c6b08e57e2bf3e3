// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/edge/run_state.h"
#include "sim/roles/ledger.h"
#include "sim/roles/role_client.h"

namespace parley::edge_sim {

// The check `flag`: each word of a private flag is a marker, and at the end no notebook of one who
// is not a moderator has it, the one's who raised it no more than others. Moderators see each flag
// that was accepted, once and intact.

// Raises one, by the route or by a message of the dialect, well made or not.
void raise_flag(RunState& run, Ledger& ledger, RoleClient& client);
// Until its sender is told that it was accepted.
void raise_again(RunState& run, Ledger& ledger, RoleClient& client);
// All of its own are accepted or refused.
bool has_raised(const Ledger& ledger, const RoleClient& client);
void judge_flags(RunState& run, const Ledger& ledger);

}  // namespace parley::edge_sim
