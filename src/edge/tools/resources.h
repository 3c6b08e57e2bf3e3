// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edge/tools/tools.h"
#include "node/broker.h"

namespace parley::edge::tools {

// The inbox, threads and agents as resources, and what changes them as updates.
void add_resources(node::Broker& broker, const std::shared_ptr<Tools>& tools,
                   mcp::Features& features);
void watch_resources(node::Broker& broker, mcp::Server& server);

// Names of agents and humans of the client's workspace that begin so, in order: for completion.
std::vector<std::string> names_of_agents(const node::Broker& broker, const mcp::Client& client,
                                         std::string_view begin);

}  // namespace parley::edge::tools
