// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edge/mcp/features/features.h"
#include "node/broker.h"

namespace parley::edge::tools {

// How to begin: as a specialist, as a director, and handing work over.
void add_prompts(node::Broker& broker, mcp::Features& features);

}  // namespace parley::edge::tools
