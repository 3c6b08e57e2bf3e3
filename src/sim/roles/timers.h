// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lib/json.h"
#include "sim/edge/run_state.h"
#include "sim/roles/ledger.h"

namespace parley::edge_sim {

// The check `timer`: the time of a task stands still while its answer waits for people, so it does
// not run out meanwhile; when the answer is taken back it goes on.

// What the giver of the task, who asked in that step, is told of its request.
void note_state(RunState& run, const Ledger& ledger, GivenTask& task, uint64_t asked_at,
                lib::Json request);
// The giver read how it ended.
void check_timer(RunState& run, const Ledger& ledger, const GivenTask& task, const Ending& ending);

}  // namespace parley::edge_sim
