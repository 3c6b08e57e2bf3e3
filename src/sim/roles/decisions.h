// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lib/json.h"
#include "sim/edge/run_state.h"
#include "sim/roles/ledger.h"
#include "sim/roles/role_client.h"

namespace parley::edge_sim {

// The checks `held` and `decision`: what needs people reaches nobody before one of those who may
// has asked to let it pass, for what was shown; and never, where it was decided otherwise, or not
// in time. It is decided once. RunState::read holds each word that a client gets to the first part.
// When the decision was asked and not yet acknowledged it may have been heard already, so that is
// where the line is drawn; that it was acknowledged is asked at the end.

// What a list or an approval says of it.
void note_approval(RunState& run, Ledger& ledger, lib::Json approval);
// From now on the giver of the task may read the answer.
void let_pass(RunState& run, GivenAnswer& answer);
// A decision was acknowledged.
void confirm_decision(RunState& run, Ledger& ledger, uint64_t id, size_t number,
                      const Reply& reply);
// One who may not decide tries to, on an approval by chance.
void try_to_decide(RunState& run, Ledger& ledger, RoleClient& client);
void judge_decisions(RunState& run, const Ledger& ledger);

}  // namespace parley::edge_sim
