// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "core/model/command.h"
#include "dialect/dialect.h"
#include "edge/api/route.h"
#include "edge/names.h"
#include "edge/principal.h"
#include "lib/json.h"
#include "net/server.h"
#include "node/broker.h"

namespace parley::edge {

using base::Duration;
using base::Error;

class Context;

// Who made a request, and the way to answer it: a value that stays good after the handler, for
// answers that come later.
struct Asker {
  Context* context;
  net::Exchange exchange;
  Principal caller;

  void respond(net::Response response) const;
  void refuse(const Error& error) const;
  // False when the caller's token is good no more; it was told that then.
  bool is_still_good() const;
  // Commands in the caller's name.
  void ask(core::Command command, node::Broker::Done done) const;
  // Answers with `body`, or refuses, when the outcome of a command is there.
  node::Broker::Done reply(std::string body = "{}") const;

  const core::Tables& tables() const;
  node::Broker& broker() const;
  base::Time now() const;
};

// One authenticated request on its way through a handler. The views are good only during the call
// of the handler; what comes later keeps copies.
struct Call : Asker {
  const net::Request& request;
  const Route& route;
  std::vector<std::string> arguments;  // of the path, decoded: {id} in /v1/messages/{id}
  core::Via via = core::Via::http;
  Query query{};
  lib::Json body{};  // unless the handler reads it

  const Asker& asker() const { return *this; }

  // A parameter of the query; nothing, or what stands for it, where it is not there. Only for what
  // the row of the route names, which has seen to it that it is well formed.
  std::optional<std::string_view> parameter(std::string_view name) const;
  std::string text(std::string_view name, std::string_view fallback = {}) const;
  bool flag(std::string_view name) const;
  uint64_t number(std::string_view name, uint64_t fallback) const;
  Duration duration(std::string_view name) const;
  base::Time time(std::string_view name, base::Time fallback) const;

  // The dialect of the body: the caller's own, or that of the header.
  std::expected<dialect::Codec, Error> codec() const;
  // In which dialect the caller wants to read: its own, or that of the parameter or the header.
  std::expected<core::Dialect, Error> wanted_dialect() const;
  // The message that the path names.
  std::expected<core::Target, Error> target(Names::First first = {}) const;
};

// A parameter of a query, decoded; none when it is not there.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

// `%41` and, in a query, `+`; none when the text is not well-formed, or not UTF-8 then.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
// One segment of a path, or one value of a query.
std::string percent_encoded(std::string_view text);

// The segments of a path; the first slash begins the first one.
std::vector<std::string_view> path_segments(std::string_view path);

// Decimal digits; none for anything else.
std::optional<uint64_t> parse_number(std::string_view text);

// The answer to what went wrong: RFC 9457.
net::Response problem(const Error& error);
// The same with one member more.
net::Response problem(const Error& error, std::string_view key, uint64_t value);

// An answer with a JSON body.
net::Response json_response(int status, std::string body);

}  // namespace parley::edge
