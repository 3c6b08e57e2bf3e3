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
  const std::string_view act = net::path_segments(call.route.pattern).back();
  const auto target = call.target();
  auto command = target ? settle_command(act, *target, call.body) : std::unexpected(target.error());
  if (command) {
    call.ask(std::move(*command), call.reply());
  } else {
    call.refuse(command.error());
  }
}

}  // namespace

std::span<const Route> settling_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST", .pattern = "/v1/messages/{}/ack", .handler = settle, .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/messages/{}/nack",
       .handler = settle,
       .body = {.kind = Body::Kind::members, .members = body_members("nack")},
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/messages/{}/reject",
       .handler = settle,
       .body = {.kind = Body::Kind::members, .members = body_members("reject")},
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/messages/{}/extend",
       .handler = settle,
       .body = {.kind = Body::Kind::members, .members = body_members("extend")},
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
