// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edge/mcp/features/features.h"

namespace parley::edge {
class Api;
}
namespace parley::edge::mcp {
class Server;
}
namespace parley::node {
class Broker;
}

namespace parley::edge::tools {

// Parley's own features: the tools by which an agent talks to the others, the resources that it can
// read, and prompts to begin with. Each call becomes a request to the API in the caller's name.
mcp::Features parley_features(Api& api, node::Broker& broker, mcp::Server& server);

}  // namespace parley::edge::tools
