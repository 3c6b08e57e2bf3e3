// SPDX-License-Identifier: Apache-2.0
#include "edge/api/call.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "dialect/iso8601.h"
#include "edge/api/context.h"

namespace parley::edge {

using base::Code;

void Asker::respond(net::Response response) const {
  context->respond(exchange, std::move(response));
}

void Asker::refuse(const Error& error, const ProblemExtras& extras) const {
  context->refuse(exchange, error, extras);
}

bool Asker::refuse_if_stale() const {
  if (is_current(context->broker.machine(), caller)) {
    return false;
  }
  context->refuse_stale(exchange);
  return true;
}

void Asker::ask(core::Command command, node::Broker::Done done) const {
  context->ask(caller, std::move(command), std::move(done));
}

void Asker::ask(core::Command command) const { context->ask(caller, std::move(command)); }

node::Broker::Done Asker::when_done(std::function<void(const core::Receipt&)> go_on) const {
  return [asker = *this, go_on = std::move(go_on)](const core::Outcome& outcome,
                                                   std::span<const core::Effect>) {
    if (outcome) {
      go_on(*outcome);
    } else {
      asker.refuse(outcome.error());
    }
  };
}

node::Broker::Done Asker::reply(std::string body, int status) const {
  // By hand and not by when_done: most calls end here, and need no copy of the caller.
  return [context = context, exchange = exchange, body = std::move(body), status](
             const core::Outcome& outcome, std::span<const core::Effect>) mutable {
    if (outcome) {
      context->respond(exchange, json_response(status, std::move(body)));
    } else {
      context->refuse(exchange, outcome.error());
    }
  };
}

const core::Tables& Asker::tables() const { return context->tables(caller.workspace); }

node::Broker& Asker::broker() const { return context->broker; }

base::Time Asker::now() const { return context->clock.now(); }

std::optional<std::string_view> Call::parameter(std::string_view name) const {
  CHECK(std::ranges::find(route.parameters, name, &Parameter::name) != route.parameters.end());
  const auto at = query.find(name);
  return at == query.end() ? std::nullopt : std::optional<std::string_view>(at->second);
}

std::string Call::text(std::string_view name, std::string_view fallback) const {
  return std::string(parameter(name).value_or(fallback));
}

bool Call::flag(std::string_view name) const { return parameter(name) == "true"; }

uint64_t Call::number(std::string_view name, uint64_t fallback) const {
  return base::parse_number(text(name)).value_or(fallback);
}

Duration Call::duration(std::string_view name) const {
  return base::parse_duration(text(name)).value_or(Duration{});
}

base::Time Call::time(std::string_view name, base::Time fallback) const {
  return dialect::parse_time(text(name)).value_or(fallback);
}

std::expected<dialect::Codec, Error> Call::codec() const {
  const std::string_view wanted = request.header("parley-dialect");
  const dialect::Codec* codec =
      wanted.empty() ? dialect::find_codec(caller.dialect) : dialect::find_codec(wanted);
  if (codec == nullptr) {
    return std::unexpected(Error{
        Code::unsupported_dialect,
        "the dialect " + std::string(wanted.empty() ? dialect::name_of(caller.dialect) : wanted) +
            " cannot be spoken yet; add the header `Parley-Dialect: flow`",
        {}});
  }
  return *codec;
}

std::expected<core::Dialect, Error> Call::wanted_dialect() const {
  const std::string_view header = request.header("parley-dialect");
  const std::string_view name = parameter("dialect").value_or(header);
  if (header.empty() && !parameter("dialect")) {
    return caller.dialect;
  }
  if (const dialect::Codec* codec = dialect::find_codec(name)) {
    return codec->dialect;
  }
  return std::unexpected(Error{Code::unsupported_dialect,
                               "no message can be written in the dialect " + std::string(name),
                               {}});
}

std::expected<core::Target, Error> Call::target(Names::First first) const {
  return Names(tables(), caller).target(arguments[0], first);
}

}  // namespace parley::edge
