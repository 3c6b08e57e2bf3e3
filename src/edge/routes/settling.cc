// SPDX-License-Identifier: Apache-2.0
// How a receiver is done with a message: acknowledge, give back, reject, take more time.
#include "edge/api/context.h"
#include "edge/routes/routes.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;

// Asks for what `command` makes of the message named in the path and of the body.
void settle(Call& call, std::expected<core::Command, Error> (*command)(const core::Target&, Json)) {
  const auto target = call.target();
  const auto body = target ? call.body_object() : std::unexpected(target.error());
  auto wanted = body ? command(*target, *body) : std::unexpected(body.error());
  if (!wanted) {
    call.refuse(wanted.error());
    return;
  }
  call.ask(std::move(*wanted), call.reply());
}

void ack(Call& call) {
  const auto target = call.target();
  if (!target) {
    call.refuse(target.error());
    return;
  }
  call.ask(core::Ack{*target, {}}, call.reply());
}

void nack(Call& call) {
  settle(call, [](const core::Target& target, Json body) -> std::expected<core::Command, Error> {
    const Json reason = body.find("reason");
    const Json failed = body.find("failed");
    const auto delay = duration_member(body, "retry_after");
    if (!delay || (reason && !reason.as_string()) || (failed && !failed.as_bool())) {
      return std::unexpected(Error{
          Code::bad_request, "reason is a string, retry_after a duration, failed true or false",
          !delay                          ? "/retry_after"
          : reason && !reason.as_string() ? "/reason"
                                          : "/failed"});
    }
    return core::Nack{target, *delay, reason ? *reason.as_string() : std::string_view{},
                      !failed || *failed.as_bool()};
  });
}

void reject(Call& call) {
  settle(call, [](const core::Target& target, Json body) -> std::expected<core::Command, Error> {
    const Json reason = body.find("reason");
    if (reason && !reason.as_string()) {
      return std::unexpected(Error{Code::bad_request, "reason is a string", "/reason"});
    }
    return core::Reject{target, reason ? *reason.as_string() : std::string_view{}};
  });
}

void extend(Call& call) {
  settle(call, [](const core::Target& target, Json body) -> std::expected<core::Command, Error> {
    const auto lease = duration_member(body, "lease");
    if (!lease) {
      return std::unexpected(Error{Code::bad_request, "lease is a duration such as 5m", "/lease"});
    }
    return core::Extend{target, *lease};
  });
}

}  // namespace

std::span<const Route> settling_routes() {
  static const std::vector<Route> routes = {
      {"POST", "/v1/messages/{}/ack", ack},
      {"POST", "/v1/messages/{}/nack", nack, {}, body_of({"reason", "retry_after", "failed"})},
      {"POST", "/v1/messages/{}/reject", reject, {}, body_of({"reason"})},
      {"POST", "/v1/messages/{}/extend", extend, {}, body_of({"lease"})},
  };
  return routes;
}

}  // namespace parley::edge
