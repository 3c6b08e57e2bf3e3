// SPDX-License-Identifier: Apache-2.0
// Topics, and who subscribes to them.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/topics/broker_topics.h"
#include "edge/api/context.h"
#include "edge/api/listing.h"
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

// The names in three sorted tables, each once and in their order: of the broker's topics, of those
// that someone made, and of patterns.
struct TopicNames {
  std::span<const std::string_view> own;
  std::map<std::string, core::TopicRef, std::less<>>::const_iterator named, named_end;
  std::map<std::string, core::Wildcards::Subscribers, std::less<>>::const_iterator patterns,
      patterns_end;

  std::optional<std::string_view> next() {
    std::optional<std::string_view> least;
    const auto consider = [&least](std::string_view name) {
      least = std::min(least.value_or(name), name);
    };
    if (!own.empty()) {
      consider(own.front());
    }
    if (named != named_end) {
      consider(named->first);
    }
    if (patterns != patterns_end) {
      consider(patterns->first);
    }
    if (!own.empty() && own.front() == least) {
      own = own.subspan(1);
    }
    if (named != named_end && named->first == least) {
      ++named;
    }
    if (patterns != patterns_end && patterns->first == least) {
      ++patterns;
    }
    return least;
  }
};

// A list of topics on its way. Who listens to a topic is looked up for each that is written, so
// some are written in each turn.
struct TopicList {
  Asker asker;
  std::string after;  // the last that was written
  uint64_t limit = 0;
  uint64_t written = 0;
  std::string text{};
  JsonWriter out{text};
};

// The broker's own are there before anyone subscribes to them.
TopicNames names_after(const core::Topics& topics, std::string_view after) {
  const auto& own = core::broker_topics::topics;
  const auto& named = topics.by_name();
  const auto& patterns = topics.wildcards().by_pattern();
  return {.own = {std::ranges::upper_bound(own, after), own.end()},
          .named = named.upper_bound(after),
          .named_end = named.end(),
          .patterns = patterns.upper_bound(after),
          .patterns_end = patterns.end()};
}

// Writes some. True: it was the rest, and the list is answered.
bool write_topics(TopicList& list) {
  constexpr size_t written_max = 64;
  const core::Tables& t = list.asker.tables();
  const bool sees_all = sees_subscribers(t, list.asker.caller);
  TopicNames names = names_after(t.topics, list.after);
  std::optional<std::string_view> name = names.next();
  for (size_t n = 0; n < written_max && name && list.written < list.limit; ++n) {
    render_topic(t, *name, sees_all ? core::none : list.asker.caller.ref, list.out);
    list.after = *name;
    ++list.written;
    name = names.next();
  }
  if (name && list.written < list.limit) {
    return false;
  }
  uint64_t rest = 0;
  for (; name; name = names.next()) {
    ++rest;
  }
  list.out.end_array();
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(list.written + rest).key("more").boolean(rest > 0);
  out.key("topics").raw(list.text).end_object();
  list.asker.respond(json_response(200, std::move(text)));
  return true;
}

void list_topics(Call& call) {
  const auto list = std::make_shared<TopicList>(call.asker(), call.text("after"),
                                                call.number("limit", topics_max));
  list->out.array();
  call.context->listings->add(call, [list] { return write_topics(*list); });
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
