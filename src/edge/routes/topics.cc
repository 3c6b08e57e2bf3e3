// SPDX-License-Identifier: Apache-2.0
// Topics, and who subscribes to them.
#include <algorithm>
#include <set>

#include "core/topics/broker_topics.h"
#include "edge/api/context.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using lib::JsonWriter;

constexpr uint64_t topics_max = 1'000;

void subscribe(Call& call) {
  const std::string agent = call.text("agent");
  call.ask(core::Subscribe{.topic = call.arguments[0], .agent = agent}, call.reply());
}

void unsubscribe(Call& call) {
  const std::string agent = call.text("agent");
  call.ask(core::Unsubscribe{.topic = call.arguments[0], .agent = agent}, call.reply());
}

void list_topics(Call& call) {
  const core::Tables& t = call.tables();
  const uint64_t limit = call.number("limit", topics_max);
  const std::string after = call.text("after");
  std::string text;
  JsonWriter out(text);
  const bool sees_all = sees_subscribers(t, call.caller);
  // The broker's own are there before anyone subscribes to them.
  std::set<std::string_view> names(core::broker_topics::topics.begin(),
                                   core::broker_topics::topics.end());
  for (const auto& [name, ref] : t.topics.by_name()) {
    names.insert(name);
  }
  for (const auto& [pattern, subscribers] : t.topics.wildcards().by_pattern()) {
    names.insert(pattern);
  }
  auto next = names.upper_bound(after);
  const auto rest = static_cast<uint64_t>(std::ranges::distance(next, names.end()));
  out.object().key("count").number(rest).key("more").boolean(rest > limit);
  out.key("topics").array();
  for (uint64_t shown = 0; next != names.end() && shown < limit; ++next, ++shown) {
    render_topic(t, *next, sees_all ? core::none : call.caller.ref, out);
  }
  out.end_array().end_object();
  call.respond(json_response(200, std::move(text)));
}

}  // namespace

std::span<const Route> topic_routes() {
  static const std::vector<Route> routes = {
      {.method = "PUT",
       .pattern = "/v1/topics/{}/subscription",
       .handler = subscribe,
       .parameters = {query::text("agent")},
       .who = Who::machine},
      {.method = "DELETE",
       .pattern = "/v1/topics/{}/subscription",
       .handler = unsubscribe,
       .parameters = {query::text("agent")},
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/topics",
       .handler = list_topics,
       .parameters = {query::text("after"), query::number("limit", topics_max)},
       .who = Who::principal},
  };
  return routes;
}

}  // namespace parley::edge
