// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edge/tools/features.h"

namespace parley::edge {
class Api;
}
namespace parley::node {
class Broker;
}

namespace parley::edge::mcp {

class Server;

// Parley's own features: the tools by which an agent talks to the others, the resources that it can
// read, and prompts to begin with. Each call becomes a request to the API in the caller's name.
Features parley_features(Api& api, node::Broker& broker, Server& server);

}  // namespace parley::edge::mcp
