// SPDX-License-Identifier: Apache-2.0
// What agents dispute among themselves, and what each of them says.
#include <algorithm>
#include <memory>
#include <ranges>
#include <set>

#include "base/text.h"
#include "edge/api/context.h"
#include "edge/api/listing.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using core::Debate;
using core::DebateStep;
using lib::JsonWriter;

constexpr uint64_t debates_listed_max = 1'000;

// Without the end of the object, so that more can be said.
void render_debate(const Debate& debate, JsonWriter& out) {
  out.object().key("id").number(debate.id);
  out.key("state").plain(core::debate_state_words[debate.state]);
  out.key("thread").text(debate.thread);
  out.key("challenger").text(debate.challenger).key("challenged").text(debate.challenged);
  out.key("severity").plain(core::word_of(debate.severity));
  out.key("rounds").number(debate.rounds);
  out.key("unanswered").boolean(debate.is_undecided() && debate.unanswered);
  if (debate.is_undecided() && debate.unanswered) {
    out.key("answer_due").time(debate.due);
  }
  out.key("holds_thread").boolean(debate.is_open() && debate.holds);
  out.key("created_at").time(debate.since);
  if (debate.escalation != 0) {
    out.key("escalation").number(debate.escalation);
  }
  if (!debate.is_open()) {
    out.key("outcome").text(debate.outcome).key("ended_by").text(debate.ended_by);
    out.key("ended_at").time(debate.ended);
  }
}

// What was said: for those who may read the message, and for people who are asked to decide.
void render_step(const Asker& asker, const Debate& debate, const DebateStep& step,
                 JsonWriter& out) {
  const core::Tables& t = asker.tables();
  out.object().key("act").plain(core::debate_act_words[step.act]).key("agent").text(step.agent);
  out.key("message_id").text(step.id).key("seq").number(step.message.n);
  out.key("created_at").time(step.at);
  const core::MessageRef ref = t.messages.find(step.message);
  if (may_see(t, asker.caller, ref) || decides_on(t, asker.caller, debate)) {
    if (const auto said = envelope_at(asker.broker(), asker.caller.workspace, step.message)) {
      out.key("subject").text(said->subject);
      out.key("body").raw(said->body.empty() ? "null" : said->body);
    }
  }
  out.end_object();
}

// Those that the caller takes part in, or may see; the newest first.
std::vector<const Debate*> visible_to(const Call& call) {
  const core::Tables& t = call.tables();
  std::vector<const Debate*> found;
  const auto look = [&](const Debate& debate) {
    if (may_see(t, call.caller, debate)) {
      found.push_back(&debate);
    }
  };
  // People may be asked about one in which they have no part.
  if (call.caller.is_maintainer() || call.caller.kind == core::PrincipalKind::human) {
    std::ranges::for_each(t.debates.all() | std::views::values, look);
  } else if (const std::set<uint64_t>* const own = t.debates.of(call.caller.name)) {
    std::ranges::for_each(*own, [&](uint64_t id) { look(*t.debates.find(id)); });
  }
  std::ranges::reverse(found);
  return found;
}

void list_debates(Call& call) {
  const uint64_t limit = call.number("limit", 100);
  const std::string state = call.text("state", "all");
  const std::string cursor = call.text("cursor");
  const auto before = cursor.empty() ? std::optional<uint64_t>(0) : parse_number(cursor);
  const std::vector<std::string_view> states = {"all",     "unresolved", "open",    "escalated",
                                                "revised", "withdrawn",  "resolved"};
  if (std::ranges::find(states, state) == states.end()) {
    call.refuse(bad_parameter("state", states));
    return;
  }
  if (!before) {
    call.refuse(bad_parameter("cursor", "what `next` said"));
    return;
  }
  std::vector<const Debate*> found = visible_to(call);
  std::erase_if(found, [&](const Debate* debate) {
    return state == "unresolved"
               ? !debate->is_open()
               : state != "all" && state != core::debate_state_words[debate->state];
  });
  std::string text;
  JsonWriter out(text);
  out.object().key("items").array();
  uint64_t listed = 0;
  uint64_t last = 0;
  bool has_more = false;
  for (const Debate* const debate : found) {
    if (*before != 0 && debate->id >= *before) {
      continue;
    }
    if (listed == limit || text.size() >= answer_bytes_max) {
      has_more = true;
      break;
    }
    render_debate(*debate, out);
    out.key("messages").number(uint64_t{debate->steps.size()}).end_object();
    ++listed;
    last = debate->id;
  }
  out.end_array().key("total").number(uint64_t{found.size()});
  if (has_more) {
    out.key("next").text(std::to_string(last));
  }
  out.end_object();
  call.respond(json_response(200, std::move(text)));
}

// The debates of one thread on their way, with what was said in them. They are copies: meanwhile
// more may be said.
struct ThreadDebates {
  Asker asker;
  std::vector<Debate> debates{};
  size_t debate = 0;  // the one that is written
  size_t step = 0;    // of it, the next
  std::string text{};
  JsonWriter out{text};
};

bool write_next(ThreadDebates& list) {
  const Debate& debate = list.debates[list.debate];
  if (list.step == 0) {
    render_debate(debate, list.out);
    list.out.key("steps").array();
  }
  render_step(list.asker, debate, debate.steps[list.step], list.out);
  if (++list.step == debate.steps.size()) {
    list.out.end_array().end_object();
    list.step = 0;
    ++list.debate;
  }
  return true;
}

void show_debates(Call& call) {
  const auto list = std::make_shared<ThreadDebates>(call.asker());
  std::vector<base::Seq> records;
  size_t steps = 0;
  for (const Debate* const debate : visible_to(call)) {
    steps += debate->thread == call.arguments[0] ? debate->steps.size() : 0;
    if (debate->thread == call.arguments[0] && steps <= debates_listed_max) {
      list->debates.push_back(*debate);
      for (const DebateStep& step : debate->steps) {
        records.push_back(step.message);
      }
    }
  }
  if (list->debates.empty()) {
    call.refuse(Error{
        Code::not_found,
        "you know of no debate in thread \"" + std::string(base::cut(call.arguments[0], 64)) + "\"",
        {}});
    return;
  }
  list->out.object().key("thread").text(call.arguments[0]).key("items").array();
  call.context->listings->add(
      call, {.records = std::move(records),
             .each = [list](base::Seq) { return write_next(*list); },
             .answer =
                 [list] {
                   list->out.end_array().key("total").number(uint64_t{list->debates.size()});
                   list->out.end_object();
                   return json_response(200, std::move(list->text));
                 }});
}

}  // namespace

std::span<const Route> debate_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/debates",
       .handler = list_debates,
       .parameters = {query::text("state"), query::text("cursor"),
                      query::number("limit", debates_listed_max)},
       .who = Who::principal},
      {.method = "GET",
       .pattern = "/v1/debates/{}",
       .handler = show_debates,
       .who = Who::principal},
  };
  return routes;
}

}  // namespace parley::edge
