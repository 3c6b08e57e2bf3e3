// SPDX-License-Identifier: Apache-2.0
#include "edge/api/route.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/nearest.h"
#include "base/text.h"
#include "dialect/iso8601.h"
#include "edge/api/members.h"
#include "edge/routes/routes.h"
#include "net/uri.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;
using Segments = std::vector<std::string_view>;

// The arguments of the path when it fits the pattern.
std::optional<std::vector<std::string>> match(const Segments& pattern, const Segments& path) {
  if (pattern.size() != path.size()) {
    return std::nullopt;
  }
  std::vector<std::string> arguments;
  for (size_t n = 0; n < path.size(); ++n) {
    if (pattern[n] == "{}") {
      auto decoded = net::percent_decoded(path[n], false);
      if (!decoded || decoded->empty()) {
        return std::nullopt;
      }
      arguments.push_back(std::move(*decoded));
    } else if (pattern[n] != path[n]) {
      return std::nullopt;
    }
  }
  return arguments;
}

// The patterns of the routes in segments, cut once.
const std::vector<Segments>& patterns() {
  static const std::vector<Segments> cut = [] {
    std::vector<Segments> all;
    for (const Route& route : all_routes()) {
      all.push_back(net::path_segments(route.pattern));
    }
    return all;
  }();
  return cut;
}

// What the value must be; empty when it is that.
std::string wanted_of(const Parameter& parameter, std::string_view value) {
  switch (parameter.type) {
    case Parameter::Type::text:
      return {};
    case Parameter::Type::flag:
      return value == "true" || value == "false" ? "" : "true or false";
    case Parameter::Type::number: {
      const auto number = base::parse_number(value);
      const std::string bound =
          parameter.max == UINT64_MAX ? "" : " up to " + std::to_string(parameter.max);
      return number && *number <= parameter.max ? "" : "a whole number" + bound;
    }
    case Parameter::Type::duration: {
      const auto duration = base::parse_duration(value);
      const base::Duration max{static_cast<int64_t>(parameter.max)};
      const std::string bound = max.us == INT64_MAX ? "" : ", up to " + base::format_duration(max);
      return duration && *duration <= max ? "" : "a duration such as 30s" + bound;
    }
    case Parameter::Type::time:
      return dialect::parse_time(value) ? "" : "a time in UTC such as 2026-11-15T21:06:53Z";
  }
  return {};
}

Error unknown_parameter(const Route& route, std::string_view name) {
  std::vector<std::string_view> known;
  std::ranges::transform(route.parameters, std::back_inserter(known), &Parameter::name);
  const std::string shown(base::cut(name, 64));
  return {
      Code::bad_request,
      "there is no parameter \"" + shown + "\" here; " +
          (known.empty() ? "this path takes none"
                         : "the nearest is \"" + std::string(base::nearest(shown, known)) + "\""),
      shown};
}

std::expected<void, Error> add_pair(const Route& route, std::string_view pair, Query& query) {
  const size_t equals = std::min(pair.find('='), pair.size());
  const auto name = net::percent_decoded(pair.substr(0, equals), true);
  auto value = net::percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true);
  const std::string shown(base::cut(name.value_or(std::string(pair.substr(0, equals))), 64));
  if (!name) {
    return std::unexpected(bad_parameter(shown, "named in UTF-8, percent-encoded"));
  }
  const auto parameter = std::ranges::find(route.parameters, *name, &Parameter::name);
  if (parameter == route.parameters.end()) {
    return std::unexpected(unknown_parameter(route, *name));
  }
  if (!value) {
    return std::unexpected(bad_parameter(shown, "UTF-8, percent-encoded"));
  }
  if (const std::string wanted = wanted_of(*parameter, *value); !wanted.empty()) {
    return std::unexpected(bad_parameter(shown, wanted));
  }
  if (!query.emplace(parameter->name, std::move(*value)).second) {
    return std::unexpected(bad_parameter(shown, "there once, not twice"));
  }
  return {};
}

}  // namespace

Error bad_parameter(std::string_view name, std::string_view wanted) {
  return {Code::bad_request,
          "the parameter " + std::string(name) + " must be " + std::string(wanted),
          std::string(name)};
}

Error bad_parameter(std::string_view name, std::span<const std::string_view> words) {
  return bad_parameter(name, in_words(words));
}

std::expected<Query, Error> read_query(const Route& route, std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (pair.empty()) {
      continue;
    }
    if (const auto added = add_pair(route, pair, query); !added) {
      return std::unexpected(added.error());
    }
  }
  return query;
}

std::expected<lib::Json, Error> read_body(const Route& route, std::string_view text,
                                          lib::JsonDocument& document) {
  const auto body = document.parse(text.empty() ? "{}" : text);
  if (!body) {
    return std::unexpected(body.error());
  }
  if (!body->is_object()) {
    return std::unexpected(Error{Code::bad_request, "the body must be a JSON object", {}});
  }
  if (route.body.kind == Body::Kind::members) {
    if (auto unknown = unknown_member(*body, route.body.members)) {
      return std::unexpected(std::move(*unknown));
    }
  }
  return *body;
}

const std::vector<Route>& all_routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> all;
    for (const auto routes_of : route_lists) {
      const std::span<const Route> rows = routes_of();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return table;
}

Match find_route(const net::Request& request) {
  Match found;
  const Segments path = net::path_segments(request.path);
  for (size_t n = 0; n < all_routes().size(); ++n) {
    auto arguments = match(patterns()[n], path);
    if (!arguments) {
      continue;
    }
    const Route& route = all_routes()[n];
    // Those who only look whether the broker is there may ask with HEAD.
    if (route.method == request.method ||
        (route.who == Who::anyone && route.method == "GET" && request.method == "HEAD")) {
      found.number = n;
      found.route = &route;
      found.arguments = std::move(*arguments);
      return found;
    }
    found.allowed.append(found.allowed.empty() ? "" : ", ").append(route.method);
  }
  return found;
}

}  // namespace parley::edge
