// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "edge/mcp/features/catalog.h"
#include "edge/mcp/host.h"
#include "edge/mcp/limits.h"
#include "edge/mcp/tables/mcp_sessions.h"
#include "edge/mcp/tables/principal_counts.h"
#include "edge/mcp/tables/response_streams.h"
#include "edge/mcp/tables/saved_sessions.h"
#include "edge/mcp/tables/subscriptions.h"
#include "edge/waits.h"
#include "lib/crypto.h"
#include "net/server.h"

namespace parley::edge::mcp {

// Why, where a principal may hold no more.
inline constexpr std::string_view held_too_much =
    "the calls that are not answered yet hold too much together (mcp.held_bytes_max): wait for "
    "some "
    "of their answers";

struct ServerOptions {
  std::string version;  // of the program
  Limits limits;
  lib::SecretKey key = lib::random_key();           // the same after a restart: sessions go on
  std::unique_ptr<SavedSessions> saved_sessions{};  // null: kept in memory only
};

// A request to the endpoint, by any method of HTTP, of a principal who is authenticated.
struct HttpRequest {
  const net::Exchange& exchange;
  const net::Request& http;
  const Principal& principal;
};

// What the parts of a Server share: its surroundings, what it offers, and its tables. Each part
// has a class of its own, which holds a reference to this.
struct ServerState {
  ServerState(Host& its_host, base::Clock& its_clock, ServerOptions its_options);

  base::Time now() const { return clock.now(); }
  uint64_t next_number() { return ++last_number; }
  // Whether the principal may hold so much more until its calls are answered.
  bool may_hold(const Principal& principal, uint64_t bytes) const {
    return held.of(principal) + bytes <= options.limits.held_bytes_max;
  }
  // Name and version of this server, as a JSON object.
  std::string server_info() const;
  // A result of the modern era, which says of what type it is and who gives it.
  std::string modern_result(std::string_view id, std::string_view members,
                            std::string_view type = "complete") const;

  Host& host;
  base::Clock& clock;
  ServerOptions options;
  Catalog catalog;
  Waits waits;
  PrincipalCounts held;  // bytes: Limits::held_bytes_max
  uint64_t last_number;  // of sessions, streams and calls
  ResponseStreams streams;
  McpSessions sessions;
  Subscriptions subscriptions;
  bool notices_due = false;  // something changed: perhaps a client can be notified now
};

}  // namespace parley::edge::mcp
