// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edge/tools/offer.h"

namespace parley::edge {
class Api;
}
namespace parley::node {
class Broker;
}

namespace parley::edge::mcp {

// What Parley itself offers: the tools by which an agent talks to the others, what it can look at,
// and prompts to begin with. Each call is a request to the API in the caller's name.
Offer parley_offer(Api& api, node::Broker& broker, Server& server);

}  // namespace parley::edge::mcp
