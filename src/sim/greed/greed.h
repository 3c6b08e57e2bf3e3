// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/edge/world.h"

namespace parley::edge_sim {

// The broker with small tables, twice: with bystanders alone, and with greedy agents beside them.
// What the bystanders have must be the same, their answers must take about as many turns of the
// loop, and what each greedy agent holds has a bound.
//
// Its checks: `kept`, what a bystander has or asks for at the end; `refused`, what it asks for
// before; `turns`, how long it waits for an answer; `holds`, what one principal holds.
Result run_greedy(const Options& options);

}  // namespace parley::edge_sim
