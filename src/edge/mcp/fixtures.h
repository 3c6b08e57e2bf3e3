// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "edge/tools/offer.h"

namespace parley::edge::mcp {

// What the official conformance suite calls: tools, resources and prompts by its names. For tests
// only: the program `parley_fixtures` offers them, the released one knows nothing of them.
Offer fixtures(Server& server);

// As whom the suite acts, since it sends no token.
inline constexpr std::string_view fixtures_agent = "mcp-fixtures";

// The parts of it.
void add_content_fixtures(Offer& offer, Server& server);  // fixtures.cc
void add_asking_fixtures(Offer& offer);                   // fixtures_asking.cc

}  // namespace parley::edge::mcp
