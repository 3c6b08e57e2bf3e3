// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// The markers that are anywhere in what a client read, byte by byte, by client: in answers,
// streams, tools, refusals and webhooks alike, whether the client understood them or not.
std::map<std::string, std::set<std::string>> markers_seen(const RunState& run);
// The same of any bytes.
std::set<std::string> markers_in(std::string_view bytes);

}  // namespace parley::edge_sim
