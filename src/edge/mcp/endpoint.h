// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "edge/mcp/limits.h"
#include "edge/mcp/tables/saved_sessions.h"
#include "lib/crypto.h"

namespace parley::edge {
class Context;
}

namespace parley::edge::mcp {

class Host;
class Server;

// /mcp of the API: joins the protocol to the HTTP server. What it offers comes by Server::add.
class Endpoint {
 public:
  struct Options {
    Limits limits;
    std::optional<lib::SecretKey> key;  // none: sessions end with the process
    // Null: what a session leaves behind is lost with the process too.
    std::unique_ptr<SavedSessions> saved_sessions;
  };
  Endpoint(Context& context, Options options);
  ~Endpoint();

  Server& server() { return *server_; }

 private:
  std::unique_ptr<Host> host_;
  std::unique_ptr<Server> server_;
};

}  // namespace parley::edge::mcp
