// SPDX-License-Identifier: Apache-2.0
// What other systems tell the broker, without a token.
#include <vector>

#include "edge/api/context.h"
#include "edge/events/hook.h"
#include "edge/routes/routes.h"

namespace parley::edge {

std::span<const Route> hook_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/hooks/github",
       .handler = [](Call& call) { call.context->github->on_request(call, call.request); },
       .body = {.kind = Body::Kind::own},
       .who = Who::signer},
  };
  return routes;
}

}  // namespace parley::edge
