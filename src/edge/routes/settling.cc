// SPDX-License-Identifier: Apache-2.0
// How a receiver is done with a message: acknowledge, give back, reject, take more time.
#include "edge/api/commands.h"
#include "edge/api/context.h"
#include "edge/routes/routes.h"
#include "net/uri.h"

namespace parley::edge {

namespace {

// Asks for what the last part of the path says of the message that it names.
void settle(Call& call) {
  const Settling& settling = settling_of(net::path_segments(call.route.pattern).back());
  const auto target = call.target();
  auto command =
      target ? settle_command(settling, *target, call.body) : std::unexpected(target.error());
  if (command) {
    call.ask(std::move(*command), call.reply());
  } else {
    call.refuse(command.error());
  }
}

Body body_of_settling(std::string_view name) {
  return {.kind = Body::Kind::members, .members = settling_of(name).members};
}

}  // namespace

std::span<const Route> settling_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/v1/messages/{}/ack",
       .handler = settle,
       .body = body_of_settling("ack"),
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/messages/{}/nack",
       .handler = settle,
       .body = body_of_settling("nack"),
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/messages/{}/reject",
       .handler = settle,
       .body = body_of_settling("reject"),
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/messages/{}/extend",
       .handler = settle,
       .body = body_of_settling("extend"),
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
