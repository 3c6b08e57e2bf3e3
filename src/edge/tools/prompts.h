// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edge/tools/features.h"
#include "node/broker.h"

namespace parley::edge::mcp {

// How to begin: as a specialist, as a director, and handing work over.
void add_prompts(node::Broker& broker, Features& features);

}  // namespace parley::edge::mcp
