// SPDX-License-Identifier: Apache-2.0
// What agents were asked for and have not reacted to in time; and the sessions in which they work.
#include <algorithm>
#include <set>

#include "core/handoffs/handoff_acts.h"
#include "edge/api/context.h"
#include "edge/api/listing.h"
#include "edge/api/members.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using core::Handoff;
using lib::JsonWriter;

constexpr uint64_t overdue_listed_max = 1'000;

void render_handoff(const core::Tables& t, const Handoff& handoff, base::Time now,
                    JsonWriter& out) {
  const core::MessageRef message = t.messages.find(handoff.message);
  const core::AgentRef to = t.agents.find(handoff.to);
  const core::DeliveryRef delivery =
      message == core::none || to == core::none ? core::none : t.messages.delivery_to(message, to);
  out.object().key("message_id").text(handoff.id).key("seq").number(handoff.message.n);
  out.key("kind").plain(core::word_of(handoff.kind));
  out.key("from").text(handoff.from).key("to").text(handoff.to);
  out.key("priority").plain(core::word_of(handoff.priority));
  out.key("subject").text(handoff.subject).key("thread").text(handoff.thread);
  if (delivery != core::none) {
    out.key("status").plain(core::handoff_status(t, t.messages.delivery(delivery)));
  }
  out.key("created_at").time(handoff.since).key("due_at").time(handoff.due);
  out.key("overdue_for").text(base::format_duration(base::rough(now - handoff.due)));
  out.end_object();
}

// The place of one in the list: when it was due, and which it is.
std::string cursor_of(const Handoff& handoff) {
  return std::to_string(handoff.due.us) + ":" + std::to_string(handoff.message.n) + ":" +
         handoff.to;
}

using Place = std::pair<base::Time, core::Handoffs::Key>;
Place place_of(const Handoff& handoff) { return {handoff.due, {handoff.message, handoff.to}}; }

std::optional<Place> parse_cursor(std::string_view cursor) {
  const size_t first = std::min(cursor.find(':'), cursor.size());
  const size_t second = std::min(cursor.find(':', first + 1), cursor.size());
  const auto due = parse_number(cursor.substr(0, first));
  const auto seq = second == cursor.size()
                       ? std::nullopt
                       : parse_number(cursor.substr(first + 1, second - first - 1));
  if (!due || !seq || *due > static_cast<uint64_t>(base::time_max.us)) {
    return std::nullopt;
  }
  return Place{base::Time{static_cast<int64_t>(*due)},
               {base::Seq{*seq}, std::string(cursor.substr(second + 1))}};
}

void list_overdue(Call& call) {
  const core::Tables& t = call.tables();
  const uint64_t limit = call.number("limit", 100);
  const std::string cursor = call.text("cursor");
  const auto after = parse_cursor(cursor);
  if (!after && !cursor.empty()) {
    call.refuse(bad_parameter("cursor", "what `next` said"));
    return;
  }
  std::vector<const Handoff*> found;
  if (call.caller.is_maintainer()) {
    found = t.handoffs.overdue(call.now());
  } else if (const auto* const own = t.handoffs.of(call.caller.name)) {
    for (const core::Handoffs::Key& key : *own) {
      found.push_back(t.handoffs.find(key));
    }
    std::erase_if(found, [&](const Handoff* handoff) {
      return !handoff->waits_for_reaction() || handoff->due > call.now() ||
             !may_see(t, call.caller, *handoff);
    });
    std::ranges::sort(found, {}, [](const Handoff* handoff) { return place_of(*handoff); });
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("items").array();
  size_t at = 0;
  while (after && at < found.size() && place_of(*found[at]) <= *after) {
    ++at;
  }
  const Handoff* last = nullptr;
  for (uint64_t left = limit; at < found.size() && left > 0 && text.size() < answer_bytes_max;
       ++at, --left) {
    last = found[at];
    render_handoff(t, *last, call.now(), out);
  }
  out.end_array().key("total").number(uint64_t{found.size()});
  if (at < found.size() && last != nullptr) {
    out.key("next").text(cursor_of(*last));
  }
  out.end_object();
  call.respond(json_response(200, std::move(text)));
}

void mark_session(Call& call) {
  Members body(call.body);
  const auto event = body.needed_text("event", "event is start or end");
  if (!body.error() && event != "start" && event != "end") {
    body.blame("event", "event is start or end");
  }
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const Asker asker = call.asker();
  const std::string agent = call.arguments[0];
  const bool is_end = event == "end";
  call.ask(core::MarkAgentSession{.agent = agent, .is_end = is_end},
           call.when_done([asker, agent, is_end](const core::Receipt& receipt) {
             const core::AgentSession* const session = asker.tables().handoffs.session_of(agent);
             std::string text;
             JsonWriter out(text);
             out.object().key("agent").text(agent);
             out.key("state").plain(session == nullptr || session->is_over() ? "ended" : "running");
             if (session != nullptr) {
               out.key("started_at").time(session->started);
             }
             if (session != nullptr && session->is_over()) {
               out.key("ended_at").time(session->ended);
             }
             out.key(is_end ? "archived" : "waiting").number(uint64_t{receipt.count});
             out.end_object();
             asker.respond(json_response(200, std::move(text)));
           }));
}

}  // namespace

std::span<const Route> handoff_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/overdue",
       .handler = list_overdue,
       .parameters = {query::text("cursor"), query::number("limit", overdue_listed_max)},
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/agents/{}/session",
       .handler = mark_session,
       .body = body_of({"event"}),
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
