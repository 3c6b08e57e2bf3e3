// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/client/client.h"

namespace parley::app {

// `parley mcp check`: one message to oneself and back, each step told.
int run_mcp_check(const std::string& agent, const ClientOptions& options);

}  // namespace parley::app
