// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/server.h"

#include <vector>

#include "edge/api/context.h"
#include "edge/routes/routes.h"

namespace parley::edge {

std::span<const Route> mcp_routes() {
  constexpr auto answer = [](Call& call) {
    call.context->mcp->on_request(call.exchange, call.request, call.caller);
  };
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/mcp",
       .handler = answer,
       .parameters = {query::text("sessionId")},
       .body = {.kind = Body::Kind::own},
       .who = Who::principal,
       .is_stream = true},
      {.method = "GET",
       .pattern = "/mcp",
       .handler = answer,
       .body = {.kind = Body::Kind::own},
       .who = Who::principal,
       .is_stream = true},
      {.method = "DELETE",
       .pattern = "/mcp",
       .handler = answer,
       .body = {.kind = Body::Kind::own},
       .who = Who::principal,
       .is_stream = true},
  };
  return routes;
}

}  // namespace parley::edge
