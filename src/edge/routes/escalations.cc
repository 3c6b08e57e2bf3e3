// SPDX-License-Identifier: Apache-2.0
// What was put before people.
#include "base/text.h"
#include "edge/api/context.h"
#include "edge/api/members.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::JsonWriter;

constexpr uint64_t escalations_listed_max = 1'000;

void render_escalation(const Call& call, const core::Escalation& escalation, JsonWriter& out) {
  out.object().key("id").number(escalation.id);
  out.key("state").plain(escalation.is_open() ? "open" : "resolved");
  out.key("cause").plain(core::cause_name(escalation.cause));
  const core::Tables& t = call.tables();
  const core::MessageRef about_ref = t.messages.find(escalation.about);
  const bool named =
      about_ref == core::none || sees_receivers(t, call.caller, t.messages.message(about_ref));
  out.key("agent").text(escalation.agent).key("receiver");
  out.text(named ? escalation.receiver : t.topics[t.messages.message(about_ref).topic].name);
  out.key("why").text(escalation.why).key("since").time(escalation.since);
  out.key("message").object().key("seq").number(escalation.about.n);
  if (const auto about = envelope_at(call.broker(), call.caller.workspace, escalation.about)) {
    out.key("id").uuid(about->id).key("from").text(about->sender);
    out.key("type").text(about->type).key("thread").text(about->thread);
  }
  out.end_object();
  if (!escalation.is_open()) {
    out.key("resolution").text(escalation.resolution);
    out.key("resolved_by").text(escalation.resolved_by);
    out.key("resolved_at").time(escalation.resolved_at);
  }
  out.end_object();
}

void list_escalations(Call& call) {
  const uint64_t limit = call.number("limit", 100);
  const base::Time from = call.time("from", base::Time{});
  const base::Time to = call.time("to", base::time_max);
  const std::string state = call.text("state", "all");
  if (state != "all" && state != "open" && state != "resolved") {
    call.refuse(bad_parameter("state", "open, resolved or all"));
    return;
  }
  const core::Tables& t = call.tables();
  std::vector<const core::Escalation*> found;
  uint64_t open = 0;
  for (const auto& [id, escalation] : t.escalations.all()) {
    const bool visible = may_see(t, call.caller, escalation);
    const bool in_time = escalation.since >= from && escalation.since < to;
    open += visible && escalation.is_open() ? 1 : 0;
    if (visible && in_time && (state == "all" || (state == "open") == escalation.is_open())) {
      found.push_back(&escalation);
    }
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(uint64_t{found.size()}).key("open").number(open);
  out.key("escalations").array();
  for (size_t at = found.size(); at > 0 && found.size() - at < limit; --at) {
    render_escalation(call, *found[at - 1], out);
  }
  out.end_array().end_object();
  call.respond(json_response(200, std::move(text)));
}

void resolve_escalation(Call& call) {
  Members body(call.body);
  const auto resolution =
      body.needed_text("resolution", "resolution says what was decided, a string");
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const auto id = parse_number(call.arguments[0]);
  if (!id) {
    call.refuse(Error{Code::not_found,
                      "there is no escalation \"" + std::string(base::cut(call.arguments[0], 64)) +
                          "\"; they have numbers, as GET /v1/escalations lists them",
                      {}});
    return;
  }
  call.ask(core::ResolveEscalation{.id = *id, .resolution = resolution}, call.reply());
}

}  // namespace

std::span<const Route> escalation_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/escalations",
       .handler = list_escalations,
       .parameters = {query::text("state"), query::time("from"), query::time("to"),
                      query::number("limit", escalations_listed_max)},
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/escalations/{}/resolve",
       .handler = resolve_escalation,
       .body = body_of({"resolution"}),
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
