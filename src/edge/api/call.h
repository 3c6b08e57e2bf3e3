// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/secrets/secrets.h"
#include "base/text.h"
#include "base/time.h"
#include "core/model/command.h"
#include "dialect/dialect.h"
#include "edge/answers/problem.h"
#include "edge/api/route.h"
#include "edge/names.h"
#include "edge/principal.h"
#include "lib/json.h"
#include "net/server.h"
#include "node/broker.h"

namespace parley::edge {

using base::Duration;
using base::Error;
using base::parse_number;

class Context;

// Who made a request, and the way to answer it: a value that stays good after the handler, for
// answers that come later.
struct Asker {
  Context* context;
  net::Exchange exchange;
  Principal caller;

  void respond(net::Response response) const;
  // Answers with an error. Handlers have no other way.
  void refuse(const Error& error, const ProblemExtras& extras = {}) const;
  // Refuses the call with 401 and returns true when the caller's token is not valid any more. Must
  // be called before an answer that comes later: the caller's name may be another's by then.
  bool refuse_if_stale() const;

  // Commands in the caller's name. Without `done` nobody waits for the outcome.
  void ask(core::Command command, node::Broker::Done done) const;
  void ask(core::Command command) const;
  // What may be passed as `done`: goes on with the receipt, or answers with `body`, when the
  // command is carried out. If it is refused, both refuse the call.
  node::Broker::Done when_done(std::function<void(const core::Receipt&)> go_on) const;
  node::Broker::Done reply(std::string body = "{}", int status = 200) const;

  const core::Tables& tables() const;
  node::Broker& broker() const;
  base::Time now() const;
};

// What may be done for one request, whatever it consists of.
struct Allowance {
  static constexpr size_t old_bytes_max = 4 * 1024 * 1024;

  base::Looks looks{};               // for secrets in all that it says
  size_t old_bytes = old_bytes_max;  // of messages on the disk that its own follow from
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
  Allowance allowance{};

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

}  // namespace parley::edge
