// SPDX-License-Identifier: Apache-2.0
// Scatter-gather and pipelines over HTTP.
#include <algorithm>
#include <array>
#include <optional>

#include "edge/api/context.h"
#include "edge/api/receipt.h"
#include "edge/api/submission.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;

// In the order of core::Strategy.
constexpr std::array<std::string_view, 4> strategies = {"all", "any", "majority", "quorum"};

std::unexpected<Error> bad(std::string detail, std::string field) {
  return std::unexpected(Error{Code::bad_request, std::move(detail), std::move(field)});
}

// The names in an array of strings.
std::expected<std::vector<std::string>, Error> names_in(Json body, const std::string& key) {
  const Json list = body.find(key);
  std::vector<std::string> names;
  if (list && list.kind() == lib::JsonKind::array) {
    for (const Json name : list.elements()) {
      if (!name.as_string()) {
        return bad("a name is a string", "/" + key);
      }
      names.emplace_back(*name.as_string());
    }
  }
  if (names.empty()) {
    return bad(key + " is an array with the names of the agents", "/" + key);
  }
  return names;
}

// `all`, `any`, `majority`, `quorum` with the member quorum, or `quorum(N)`.
std::expected<core::Gathering, Error> gathering_in(Json body) {
  core::Gathering gathering;
  const Json strategy = body.find("strategy");
  std::string_view word = strategy ? strategy.as_string().value_or("") : "all";
  std::optional<uint64_t> quorum;
  if (const Json number = body.find("quorum")) {
    quorum = number.as_uint64().value_or(0);
  }
  if (word.starts_with("quorum(") && word.ends_with(")")) {
    quorum = parse_number(word.substr(7, word.size() - 8)).value_or(0);
    word = "quorum";
  }
  const auto* const found = std::ranges::find(strategies, word);
  if (found == strategies.end()) {
    return bad("a strategy is all, any, majority or quorum(N)", "/strategy");
  }
  gathering.strategy = static_cast<core::Strategy>(found - strategies.begin());
  if (gathering.strategy == core::Strategy::quorum && (!quorum || *quorum == 0)) {
    return bad("the strategy quorum needs a quorum of 1 or more", "/quorum");
  }
  gathering.quorum = static_cast<uint32_t>(std::min<uint64_t>(quorum.value_or(0), UINT32_MAX));
  const auto window = duration_member(body, "timeout");
  if (!window) {
    return bad("timeout is a duration such as 30s or 5m", "/timeout");
  }
  gathering.window = *window;
  const Json partial = body.find("on_partial");
  constexpr std::array<std::string_view, 3> endings = {"proceed_with_available", "fail",
                                                       "extend_timeout"};
  const auto* const ending =
      std::ranges::find(endings, partial ? partial.as_string().value_or("") : endings.front());
  if (ending == endings.end()) {
    return bad("on_partial is proceed_with_available, fail or extend_timeout", "/on_partial");
  }
  gathering.on_partial = static_cast<core::OnPartial>(ending - endings.begin());
  return gathering;
}

// The message as it is sent to the first receiver: `receiver` and `type` may be left out.
std::expected<std::string, Error> message_in(Json body, const std::string& receiver) {
  const Json message = body.find("message");
  if (!message || !message.is_object()) {
    return bad("message is the message to send, an object", "/message");
  }
  const Json type = message.find("type");
  if (type && type.as_string() != "request" && type.as_string() != "query") {
    return bad("what is to be answered is a request or a query", "/message/type");
  }
  std::string text = "{";
  if (!message.find("receiver")) {
    JsonWriter(text.append("\"receiver\":")).text(receiver);
  }
  if (!type) {
    text.append(text.size() > 1 ? "," : "").append(R"("type":"request")");
  }
  const std::string_view raw = message.raw();
  const bool is_empty = !(message.members().begin() != message.members().end());
  text.append(text.size() > 1 && !is_empty ? "," : "").append(raw.substr(1));
  return text;
}

// What comes after the end of a scatter is late, and no part of it.
std::string_view member_state(const core::Gather& gather, const core::Gather::Member& member) {
  return member.counts()                           ? "answered"
         : member.response.n != 0                  ? "refused"
         : member.failed                           ? "failed"
         : gather.state == core::GatherState::open ? "waiting"
                                                   : "missing";
}

// The place of a message and, while the engine knows it, its id.
void render_place(const core::Tables& t, std::string_view key, base::Seq seq, JsonWriter& out) {
  out.key(key).object().key("seq").number(seq.n);
  if (const core::MessageRef ref = t.messages.find(seq); ref != core::none) {
    out.key("id").uuid(t.messages.message(ref).id);
  }
  out.end_object();
}

std::string gather_text(const core::Tables& t, const core::Gather& gather) {
  std::string text;
  JsonWriter out(text);
  out.object().key("id").uuid(gather.id).key("seq").number(gather.message.n);
  out.key("owner").text(gather.owner).key("state").plain(core::gather_state_name(gather.state));
  out.key("strategy").plain(strategies[static_cast<size_t>(gather.terms.strategy)]);
  out.key("needed").number(uint64_t{gather.needed()}).key("good").number(uint64_t{gather.good()});
  out.key("timeout").text(base::format_duration(gather.terms.window));
  out.key("extended").boolean(gather.extended).key("since").time(gather.since);
  if (gather.state == core::GatherState::open) {
    out.key("due").time(gather.due);
  } else {
    out.key("ended").time(gather.ended);
  }
  out.key("members").array();
  for (const core::Gather::Member& member : gather.members) {
    out.object().key("agent").text(member.name).key("state").plain(member_state(gather, member));
    if (member.response.n != 0) {
      out.key("status").plain(status_name(member.status));
      render_place(t, "response", member.response, out);
    }
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

std::string_view stage_state(const core::Pipeline& pipeline, size_t at) {
  if (pipeline.stages[at].response.n != 0 && at < pipeline.stage) {
    return "done";
  }
  if (at > pipeline.stage) {
    return "to_come";
  }
  switch (pipeline.state) {
    case core::PipelineState::running:
      return "working";
    case core::PipelineState::paused:
      return "paused";
    case core::PipelineState::completed:
      return "done";
    case core::PipelineState::failed:
      return "failed";
  }
  return "working";
}

std::string pipeline_text(const core::Tables& t, const core::Pipeline& pipeline) {
  std::string text;
  JsonWriter out(text);
  out.object().key("id").uuid(pipeline.id).key("seq").number(pipeline.first.n);
  out.key("owner").text(pipeline.owner);
  out.key("state").plain(core::pipeline_state_name(pipeline.state));
  out.key("stage").number(uint64_t{pipeline.stage} + 1);
  out.key("stage_timeout").text(base::format_duration(pipeline.stage_timeout));
  out.key("since").time(pipeline.since);
  if (pipeline.is_over()) {
    out.key("ended").time(pipeline.ended);
  }
  if (!pipeline.waits_for.empty()) {
    out.key("waits_for").text(pipeline.waits_for);
  }
  if (!pipeline.error.empty()) {
    out.key("error").text(pipeline.error);
  }
  out.key("stages").array();
  for (size_t at = 0; at < pipeline.stages.size(); ++at) {
    const core::Pipeline::Stage& stage = pipeline.stages[at];
    out.object().key("agent").text(stage.agent).key("state").plain(stage_state(pipeline, at));
    if (stage.message.n != 0) {
      out.key("began").time(stage.began);
      render_place(t, "message", stage.message, out);
    }
    if (stage.response.n != 0) {
      out.key("ended").time(stage.ended);
      render_place(t, "response", stage.response, out);
    }
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

// By place, or by the id that its owner gave it; nullptr when there is none that the caller may
// see.
template <class Map, class ByName>
auto find_for(const Principal& caller, const core::Target& target, const Map& all,
              const ByName& by_name) -> decltype(&all.begin()->second) {
  if (target.seq.n == 0) {
    if (const auto* own = by_name(caller.name, target.id)) {
      return own;
    }
    const auto at =
        std::ranges::find_if(all, [&](const auto& item) { return item.second.id == target.id; });
    return at != all.end() && caller.is_maintainer() ? &at->second : nullptr;
  }
  const auto at = all.find(target.seq);
  const bool visible =
      at != all.end() && (at->second.owner == caller.name || caller.is_maintainer());
  return visible ? &at->second : nullptr;
}

// Sends one message in a pattern. `later` are the stages after the first.
void submit_pattern(Call& call, const std::vector<std::string>& receivers,
                    std::optional<core::Gathering> gathering, const std::vector<std::string>& later,
                    Json body) {
  const auto codec = call.codec();
  const auto lenient = call.flag("lenient");
  const auto message = message_in(body, receivers.front());
  if (!codec || !lenient || !message) {
    call.refuse(!codec ? codec.error() : !lenient ? lenient.error() : message.error());
    return;
  }
  lib::JsonDocument document;
  const auto parsed = document.parse(*message);
  if (!parsed) {
    call.refuse(parsed.error());
    return;
  }
  Submission submission{.lenient = *lenient,
                        .idempotency_key = call.request.header("idempotency-key")};
  submission.receivers = {receivers.begin(), receivers.end()};
  submission.traceparent = call.request.header("traceparent");
  submission.tracestate = call.request.header("tracestate");
  submission.gathering = gathering;
  submission.later_stages = {later.begin(), later.end()};
  call.context->submissions->submit(
      call.caller, *codec, *parsed, submission,
      [asker = call.asker()](const core::Outcome& outcome, std::span<const core::Effect>) {
        if (outcome) {
          asker.respond(json_response(202, receipt_text(asker.broker(), asker.caller, *outcome)));
        } else {
          asker.refuse(outcome.error());
        }
      });
}

void scatter(Call& call) {
  const auto body = call.body_object();
  const auto receivers = body ? names_in(*body, "receivers") : std::unexpected(body.error());
  const auto gathering = receivers ? gathering_in(*body) : std::unexpected(receivers.error());
  if (!gathering) {
    call.refuse(gathering.error());
    return;
  }
  submit_pattern(call, *receivers, *gathering, {}, *body);
}

void show_scatter(Call& call) {
  const auto target = call.target(Names::First::sent);
  if (!target) {
    call.refuse(target.error());
    return;
  }
  const core::Patterns& patterns = call.tables().patterns;
  const core::Gather* const found = find_for(
      call.caller, *target, patterns.gathers(),
      [&](std::string_view owner, const auto& id) { return patterns.find_gather(owner, id); });
  if (found == nullptr) {
    call.refuse(Error{Code::not_found, "there is no such scatter of yours", {}});
    return;
  }
  call.respond(json_response(200, gather_text(call.tables(), *found)));
}

void start_pipeline(Call& call) {
  const auto body = call.body_object();
  const auto stages = body ? names_in(*body, "stages") : std::unexpected(body.error());
  if (!stages) {
    call.refuse(stages.error());
    return;
  }
  if (stages->size() < 2) {
    call.refuse(Error{Code::bad_request,
                      "a pipeline has two stages or more; for one, send a request", "/stages"});
    return;
  }
  submit_pattern(call, {stages->front()}, std::nullopt, {stages->begin() + 1, stages->end()},
                 *body);
}

void show_pipeline(Call& call) {
  const auto target = call.target(Names::First::sent);
  if (!target) {
    call.refuse(target.error());
    return;
  }
  const core::Patterns& patterns = call.tables().patterns;
  const core::Pipeline* const found = find_for(
      call.caller, *target, patterns.pipelines(),
      [&](std::string_view owner, const auto& id) { return patterns.find_pipeline(owner, id); });
  if (found == nullptr) {
    call.refuse(Error{Code::not_found, "there is no such pipeline of yours", {}});
    return;
  }
  call.respond(json_response(200, pipeline_text(call.tables(), *found)));
}

}  // namespace

std::span<const Route> pattern_routes() {
  static const std::vector<Route> routes = {
      {"POST",
       "/v1/scatter",
       scatter,
       {query::flag("lenient")},
       body_of({"receivers", "message", "strategy", "quorum", "timeout", "on_partial"})},
      {"GET", "/v1/scatter/{}", show_scatter},
      {"POST",
       "/v1/pipelines",
       start_pipeline,
       {query::flag("lenient")},
       body_of({"stages", "message"})},
      {"GET", "/v1/pipelines/{}", show_pipeline},
  };
  return routes;
}

}  // namespace parley::edge
