// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/client.h"

namespace parley::app {

// `parley mcp`: lines of JSON-RPC on standard input and output, for a client that starts its
// servers itself; a thin client of a running broker's /mcp. Returns when standard input ends.
int run_mcp(const std::string& agent, const ClientOptions& options);

// `parley mcp check`: one message to oneself and back, each step told.
int run_mcp_check(const std::string& agent, const ClientOptions& options);

}  // namespace parley::app
