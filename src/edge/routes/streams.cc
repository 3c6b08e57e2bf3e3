// SPDX-License-Identifier: Apache-2.0
// Connections that messages are pushed to: server-sent events and WebSockets.
#include "edge/api/context.h"
#include "edge/push.h"
#include "edge/routes/routes.h"

namespace parley::edge {

namespace {

constexpr int upgrade_required = 426;

void open_events(Call& call) { call.context->pushes->open(call, Push::Kind::events); }

void open_socket(Call& call) {
  if (!call.request.wants_websocket) {
    call.context->server->accept_websocket(call.exchange);  // which refuses it, and says how to ask
    call.context->metrics.requests.answered(call.exchange, upgrade_required, call.now());
    return;
  }
  call.context->pushes->open(call, Push::Kind::websocket);
}

}  // namespace

std::span<const Route> stream_routes() {
  static const std::vector<Parameter> parameters = {query::text("dialect"), query::number("window"),
                                                    query::text("after")};
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/stream",
       .handler = open_events,
       .parameters = parameters,
       .who = Who::principal,
       .is_stream = true},
      {.method = "GET",
       .pattern = "/v1/ws",
       .handler = open_socket,
       .parameters = parameters,
       .who = Who::principal,
       .is_stream = true},
  };
  return routes;
}

}  // namespace parley::edge
