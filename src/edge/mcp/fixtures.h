// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "edge/tools/features.h"

namespace parley::edge::mcp {

class Server;

// What the official conformance suite calls: tools, resources and prompts by its names. For tests
// only: the program `parley_fixtures` offers them, the released one knows nothing of them.
Features fixtures(Server& server);

// As whom the suite acts, since it sends no token.
inline constexpr std::string_view fixtures_agent = "mcp-fixtures";

// The parts of it.
void add_content_fixtures(Features& features, Server& server);  // fixtures.cc
void add_asking_fixtures(Features& features);                   // fixtures_asking.cc

}  // namespace parley::edge::mcp
