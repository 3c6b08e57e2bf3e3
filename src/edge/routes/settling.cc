// SPDX-License-Identifier: Apache-2.0
// How a receiver is done with a message: acknowledge, give back, reject, take more time.
#include "edge/api/commands.h"
#include "edge/api/context.h"
#include "edge/routes/routes.h"

namespace parley::edge {

namespace {

// Asks for what the last part of the path says of the message that it names.
void settle(Call& call) {
  const std::string_view act = path_segments(call.route.pattern).back();
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
      {"POST", "/v1/messages/{}/ack", settle},
      {"POST", "/v1/messages/{}/nack", settle, {}, {Body::Kind::members, body_members("nack")}},
      {"POST", "/v1/messages/{}/reject", settle, {}, {Body::Kind::members, body_members("reject")}},
      {"POST", "/v1/messages/{}/extend", settle, {}, {Body::Kind::members, body_members("extend")}},
  };
  return routes;
}

}  // namespace parley::edge
