// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "core/model/command.h"
#include "edge/principal.h"
#include "lib/json.h"
#include "net/server.h"

namespace parley::edge {

using base::Duration;
using base::Error;

// One authenticated request on its way through a handler. The views are good only during the call
// of the handler; what comes later keeps copies.
struct Call {
  net::Exchange exchange;
  const net::Request& request;
  Principal caller;
  std::vector<std::string> arguments;  // of the path, decoded: {id} in /v1/messages/{id}
  core::Via via = core::Via::http;

  // A parameter of the query, decoded; none when it is not there.
  std::optional<std::string> parameter(std::string_view name) const;
  // `true`, `false`, or not there.
  std::expected<bool, Error> flag(std::string_view name) const;
  // Errors name the parameter. `fallback` where it is not there.
  std::expected<uint64_t, Error> count(std::string_view name, uint64_t fallback,
                                       uint64_t max) const;
  std::expected<Duration, Error> duration(std::string_view name, Duration fallback,
                                          Duration max) const;
  std::expected<base::Time, Error> time(std::string_view name, base::Time fallback) const;
};

// `%41` and, in a query, `+`; none when the text is not well-formed, or not UTF-8 then.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
// One segment of a path, or one value of a query.
std::string percent_encoded(std::string_view text);

// The segments of a path; the first slash begins the first one.
std::vector<std::string_view> path_segments(std::string_view path);

// Decimal digits; none for anything else.
std::optional<uint64_t> parse_number(std::string_view text);

// The duration in a member: none when it is there and is no duration, zero when it is not there.
std::optional<Duration> duration_member(lib::Json object, std::string_view key);

// A number of tokens that an agent reports; 0 when it reports none.
std::expected<uint64_t, Error> tokens_member(lib::Json object, std::string_view key,
                                             std::string_view place = "/");

// What an agent may say of how it is; each dialect has its words.
std::expected<void, Error> check_status(core::Dialect dialect, std::string_view status);

// What a heartbeat says in `key`: what it said before where that is left out, nothing where it is
// null.
std::expected<std::string, Error> said_member(lib::Json body, std::string_view key,
                                              std::string_view before);
// What stays of a status when the agent is heard of: all but `offline`.
std::string_view standing_status(const core::Agent& agent);

// A member that is none of these, as an error that names the nearest; for bodies in which a typing
// error would change what is done.
std::optional<Error> unknown_member(lib::Json body, std::initializer_list<std::string_view> known);

// `queue`, `redirect`, `fail`; empty: as the rules say.
std::expected<core::OnUnavailable, Error> parse_on_unavailable(std::string_view text);

// The answer to what went wrong: RFC 9457.
net::Response problem(const Error& error);
// The same with one member more.
net::Response problem(const Error& error, std::string_view key, uint64_t value);

// An answer with a JSON body.
net::Response json_response(int status, std::string body);

}  // namespace parley::edge
