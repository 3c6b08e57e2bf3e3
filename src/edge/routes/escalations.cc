// SPDX-License-Identifier: Apache-2.0
// What was put before people.
#include <algorithm>
#include <deque>
#include <memory>
#include <ranges>
#include <set>

#include "base/text.h"
#include "edge/api/context.h"
#include "edge/api/listing.h"
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

void render_escalation(const Asker& asker, const core::Escalation& escalation, JsonWriter& out) {
  out.object().key("id").number(escalation.id);
  out.key("state").plain(escalation.is_open() ? "open" : "resolved");
  out.key("cause").plain(core::cause_name(escalation.cause));
  const core::Tables& t = asker.tables();
  const core::MessageRef about_ref = t.messages.find(escalation.about);
  const bool named =
      about_ref == core::none || sees_receivers(t, asker.caller, t.messages.message(about_ref));
  out.key("agent").text(escalation.agent).key("receiver");
  out.text(named ? escalation.receiver : t.topics[t.messages.message(about_ref).topic].name);
  out.key("why").text(escalation.why).key("since").time(escalation.since);
  if (escalation.debate != 0) {
    out.key("debate").number(escalation.debate);
    if (const core::Debate* const debate = t.debates.find(escalation.debate); debate != nullptr) {
      out.key("thread").text(debate->thread);
    }
  }
  out.key("people").array();
  for (const std::string& name : escalation.people) {
    out.text(name);
  }
  out.end_array();
  out.key("message").object().key("seq").number(escalation.about.n);
  if (const auto about = envelope_at(asker.broker(), asker.caller.workspace, escalation.about)) {
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

// A list on its way, newest first: what each is about is read from its record.
struct EscalationList {
  Asker asker;
  std::deque<uint64_t> left{};
  std::string text{};
  JsonWriter out{text};
};

// False: the answer is large enough.
bool write_next(EscalationList& list) {
  const core::Tables& t = list.asker.tables();
  const core::Escalation* const next = t.escalations.find(list.left.front());
  list.left.pop_front();
  if (next != nullptr && may_see(t, list.asker.caller, *next)) {
    render_escalation(list.asker, *next, list.out);
  }
  return list.text.size() < answer_bytes_max;
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
  const auto look = [&](const core::Escalation& escalation) {
    const bool visible = may_see(t, call.caller, escalation);
    const bool in_time = escalation.since >= from && escalation.since < to;
    open += visible && escalation.is_open() ? 1 : 0;
    if (visible && in_time && (state == "all" || (state == "open") == escalation.is_open())) {
      found.push_back(&escalation);
    }
  };
  // An agent may have named any human.
  if (t.agents.looks_after_workspace(call.caller.ref) || call.caller.is_maintainer() ||
      call.caller.kind == core::PrincipalKind::human) {
    std::ranges::for_each(t.escalations.all() | std::views::values, look);
  } else if (const std::set<uint64_t>* const own = t.escalations.of(call.caller.name)) {
    for (const uint64_t id : *own) {
      look(t.escalations.all().at(id));
    }
  }
  const auto list = std::make_shared<EscalationList>(call.asker());
  list->out.object().key("count").number(uint64_t{found.size()}).key("open").number(open);
  list->out.key("escalations").array();
  std::vector<base::Seq> records;
  for (size_t at = found.size(); at > 0 && found.size() - at < limit; --at) {
    list->left.push_back(found[at - 1]->id);
    records.push_back(found[at - 1]->about);
  }
  call.context->listings->add(call, {.records = std::move(records),
                                     .each = [list](base::Seq) { return write_next(*list); },
                                     .answer =
                                         [list] {
                                           list->out.end_array().end_object();
                                           return json_response(200, std::move(list->text));
                                         }});
}

Error no_such_escalation(std::string_view id) {
  return {Code::not_found,
          "there is no escalation \"" + std::string(base::cut(id, 64)) +
              "\"; they have numbers, as GET /v1/escalations lists them",
          {}};
}

void show_escalation(Call& call) {
  const auto id = parse_number(call.arguments[0]);
  const core::Tables& t = call.tables();
  const core::Escalation* const found = id ? t.escalations.find(*id) : nullptr;
  if (found == nullptr || !may_see(t, call.caller, *found)) {
    call.refuse(no_such_escalation(call.arguments[0]));
    return;
  }
  const auto list = std::make_shared<EscalationList>(call.asker());
  list->left.push_back(found->id);
  call.context->listings->add(call, {.records = {found->about},
                                     .each = [list](base::Seq) { return write_next(*list); },
                                     .answer = [list]() -> std::expected<net::Response, Error> {
                                       if (list->text.empty()) {
                                         return std::unexpected(no_such_escalation("that"));
                                       }
                                       return json_response(200, std::move(list->text));
                                     }});
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
    call.refuse(no_such_escalation(call.arguments[0]));
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
      {.method = "GET",
       .pattern = "/v1/escalations/{}",
       .handler = show_escalation,
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
