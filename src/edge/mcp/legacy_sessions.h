// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "edge/mcp/server_state.h"
#include "edge/mcp/transport.h"

namespace parley::edge::mcp {

// The life of the sessions of the legacy era: how one begins, is found by a request, leaves memory,
// comes back and ends. A part of Server.
class LegacySessions {
 public:
  LegacySessions(ServerState& state, Transport& transport) : state_(state), transport_(transport) {}

  // The session that the request names. Nullptr when it has none: then the request is answered.
  McpSession* find(const HttpRequest& request);
  // Nullptr when there is no room for it.
  McpSession* add(McpSession begun);
  // Saves what must be known of the session when it is not in memory.
  void save(const McpSession& session, bool is_ended = false);
  // The session is over for good: its id is refused from now on.
  void end(McpSession& session);
  // The session leaves memory, with its streams and calls, and comes back when it is used again.
  void evict(McpSession& session);
  // Evicts the sessions that nobody uses.
  void evict_idle(base::Time now);

 private:
  McpSession* restore(std::string_view id, const Principal& principal);

  ServerState& state_;
  Transport& transport_;
};

}  // namespace parley::edge::mcp
