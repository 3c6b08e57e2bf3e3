// SPDX-License-Identifier: Apache-2.0
#include "edge/api/route.h"

#include <optional>
#include <utility>

#include "edge/api/call.h"
#include "edge/routes/routes.h"

namespace parley::edge {

namespace {

using Segments = std::vector<std::string_view>;

// The arguments of the path when it fits the pattern.
std::optional<std::vector<std::string>> match(const Segments& pattern, const Segments& path) {
  if (pattern.size() != path.size()) {
    return std::nullopt;
  }
  std::vector<std::string> arguments;
  for (size_t n = 0; n < path.size(); ++n) {
    if (pattern[n] == "{}") {
      auto decoded = percent_decoded(path[n], false);
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
      all.push_back(path_segments(route.pattern));
    }
    return all;
  }();
  return cut;
}

}  // namespace

const std::vector<Route>& all_routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> all;
    for (const std::span<const Route> rows :
         {message_routes(),    search_routes(), inbox_routes(),       settling_routes(),
          stream_routes(),     agent_routes(),  human_routes(),       workspace_routes(),
          topic_routes(),      thread_routes(), session_routes(),     lock_routes(),
          task_routes(),       trace_routes(),  dead_letter_routes(), pattern_routes(),
          escalation_routes(), rule_routes(),   health_routes(),      mcp_routes()}) {
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return table;
}

Match find_route(const net::Request& request) {
  Match found;
  const Segments path = path_segments(request.path);
  for (size_t n = 0; n < all_routes().size(); ++n) {
    auto arguments = match(patterns()[n], path);
    if (!arguments) {
      continue;
    }
    const Route& route = all_routes()[n];
    // Those who only look whether the broker is there may ask with HEAD.
    if (route.method == request.method || (route.who == Who::anyone && request.method == "HEAD")) {
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
