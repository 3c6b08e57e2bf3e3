// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/time.h"
#include "edge/mcp/calls.h"
#include "edge/mcp/features/features.h"
#include "edge/mcp/host.h"
#include "edge/mcp/legacy.h"
#include "edge/mcp/legacy_sessions.h"
#include "edge/mcp/methods.h"
#include "edge/mcp/modern.h"
#include "edge/mcp/notifier.h"
#include "edge/mcp/server_state.h"
#include "edge/mcp/transport.h"
#include "edge/waits.h"
#include "net/server.h"

namespace parley::edge::mcp {

// A Model Context Protocol server at one endpoint, of both eras: 2026-07-28, in which each request
// says all, and the older ones with their sessions. Knows the protocol and asks nothing of the
// broker: what a tool does is a function of the features that it is given. On the thread of the
// net::Server.
class Server {
 public:
  using Options = ServerOptions;

  Server(Host& host, base::Clock& clock, Options options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Adds features behind those that there are already. Before the first request.
  void add(Features features);

  // A request of an authenticated principal to the endpoint, by any method.
  void on_request(const net::Exchange& exchange, const net::Request& request,
                  const Principal& principal);
  void on_closed(net::ConnectionId connection);
  void on_drained(net::ConnectionId connection);
  // Once per turn: notifies of what changed, ends what is over, evicts what is idle. Returns when
  // it wants the next turn.
  base::Time on_turn(base::Time now);

  // A resource changed, for one agent or (empty) all of the workspace. Cheap where no one
  // subscribes; several changes within a turn make one notice.
  void updated(core::WorkspaceId workspace, std::string_view agent, std::string_view uri) {
    notifier_.updated(workspace, agent, uri);
  }
  // Whether anyone subscribes at all: to spare the making of URIs.
  bool has_subscribers() const { return !state_.subscriptions.is_empty(); }
  // A list is another now: of tools, prompts or resources.
  void list_changed(ChangeNotice::Kind list) { notifier_.list_changed(list); }

  size_t sessions() const { return state_.sessions.size(); }
  size_t streams() const { return state_.streams.size(); }
  // What the open calls of all principals keep.
  uint64_t held_bytes() const { return state_.held.all(); }
  base::Time now() const { return state_.now(); }

 private:
  void post(const HttpRequest& request);
  void client_left(ResponseStream& stream);
  void sweep_streams(base::Time now);

  ServerState state_;
  Transport transport_;
  Calls calls_;
  LegacySessions sessions_;
  Methods methods_;
  ModernProtocol modern_;
  LegacyProtocol legacy_;
  Notifier notifier_;
  lib::JsonDocument document_;  // of the request
  base::Time next_sweep_{};
};

}  // namespace parley::edge::mcp
