// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/edge/run_state.h"
#include "sim/roles/ledger.h"

namespace parley::edge_sim {

// The check `failure`: a task that nobody answered in time has one failure made by the broker, one
// that was answered has none, whatever was lost, repeated or restarted meanwhile. This is asked
// when a run ends, and of each task with each ending that its giver reads.
void judge_failures(RunState& run, const Ledger& ledger);
void check_failures(RunState& run, const GivenTask& task);

}  // namespace parley::edge_sim
