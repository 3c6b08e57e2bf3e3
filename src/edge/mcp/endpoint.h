// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "edge/mcp/limits.h"
#include "edge/mcp/tables/saved_sessions.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace mcp {
struct Features;
class Server;
}  // namespace mcp
class Api;
class Context;
class McpHost;

// /mcp of the API: joins the protocol to the HTTP server and the broker.
class McpEndpoint {
 public:
  struct Options {
    mcp::Limits limits;
    std::optional<lib::SecretKey> key;                   // none: sessions end with the process
    std::unique_ptr<mcp::SavedSessions> saved_sessions;  // null: also what they leave behind does
    std::function<mcp::Features(mcp::Server&)> more;     // what is offered beside Parley's tools
  };
  // Its tools ask `api` from within.
  McpEndpoint(Api& api, Context& context, Options options);
  ~McpEndpoint();

  mcp::Server& server() { return *server_; }

 private:
  std::unique_ptr<McpHost> host_;
  std::unique_ptr<mcp::Server> server_;
};

}  // namespace parley::edge
