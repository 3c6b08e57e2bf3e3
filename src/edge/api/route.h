// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/time.h"
#include "lib/json.h"
#include "net/server.h"

namespace parley::edge {

struct Call;

// A parameter that a route takes in its query.
struct Parameter {
  enum class Type : uint8_t { text, flag, number, duration, time };
  std::string_view name;
  Type type = Type::text;
  uint64_t max = UINT64_MAX;  // of a number; of a duration in microseconds
};

namespace query {

constexpr Parameter text(std::string_view name) { return {name}; }
constexpr Parameter flag(std::string_view name) { return {name, Parameter::Type::flag}; }
constexpr Parameter number(std::string_view name, uint64_t max = UINT64_MAX) {
  return {name, Parameter::Type::number, max};
}
constexpr Parameter time(std::string_view name) { return {name, Parameter::Type::time}; }
constexpr Parameter duration(std::string_view name, base::Duration max = {INT64_MAX}) {
  return {name, Parameter::Type::duration, static_cast<uint64_t>(max.us)};
}

}  // namespace query

// What a route takes as its body.
struct Body {
  enum class Kind : uint8_t {
    members,  // an object with these members and no others; none: also no body at all
    object,   // with whatever members
    own,      // the handler reads it
  };
  Kind kind = Kind::members;
  std::vector<std::string_view> members{};
  // Secrets in it are meant to be there, or are looked for by the handler: edge/secrets/screen.h.
  bool may_have_secrets = false;
  // A message is in it, so that what is refused may be for the moderators alone.
  bool has_message = false;
};

inline Body body_of(std::initializer_list<std::string_view> names) {
  return {Body::Kind::members, names};
}
inline Body body_with_secrets_of(std::initializer_list<std::string_view> names) {
  return {Body::Kind::members, names, true};
}
inline Body body_with_message_of(std::initializer_list<std::string_view> names) {
  return {Body::Kind::members, names, true, true};
}

// Who may use a route.
enum class Who : uint8_t {
  anyone,      // without a token
  principal,   // whoever has one; the handler shows each caller what that one may see
  machine,     // whoever has one; the check of the command says who may
  maintainer,  // or an admin
  admin,
  overseer,  // a maintainer or an admin of the first workspace
  signer,    // without a token: the handler finds the signature of the body right or not
};

// One row of the table of routes: all that is served, and what each takes.
struct Route {
  std::string_view method;
  std::string_view pattern;  // `{}` stands for one segment
  void (*handler)(Call&);
  std::vector<Parameter> parameters{};
  Body body{};
  base::Stated<Who> who;
  bool is_stream = false;  // takes the connection, so that it cannot be asked from within
};

// All rows. The description that /openapi.json gives is held to them by a test.
const std::vector<Route>& all_routes();

// A route that fits path and method; or the methods that the path takes.
struct Match {
  size_t number = SIZE_MAX;      // of the route
  const Route* route = nullptr;  // null: none fits
  std::vector<std::string> arguments{};
  std::string allowed{};
};
Match find_route(const net::Request& request);

// The parameters of a query, decoded, by the names that its route has for them.
using Query = std::map<std::string_view, std::string>;

// Reads a query as the route takes it. Fails with bad_request, and names the parameter, where one
// is unknown, not well formed, of another type or beyond its bound, or there twice: a typing error
// must not change what is done.
std::expected<Query, base::Error> read_query(const Route& route, std::string_view text);

// What is wrong with a parameter that must be something else.
base::Error bad_parameter(std::string_view name, std::string_view wanted);
// The same, of one that must be one of these words.
base::Error bad_parameter(std::string_view name, std::span<const std::string_view> words);

// Reads a body as the route takes it. Fails with bad_request, and names the member, where it has
// one that is unknown.
std::expected<lib::Json, base::Error> read_body(const Route& route, std::string_view text,
                                                lib::JsonDocument& document);

}  // namespace parley::edge
