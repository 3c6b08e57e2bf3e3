// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edge/tools/offer.h"
#include "node/broker.h"

namespace parley::edge::mcp {

// How to begin: as a specialist, as a director, and handing work over.
void add_prompts(node::Broker& broker, Offer& offer);

}  // namespace parley::edge::mcp
