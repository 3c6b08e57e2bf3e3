// SPDX-License-Identifier: Apache-2.0
// Scatter-gather and pipelines over HTTP.
#include <algorithm>
#include <optional>

#include "edge/answers/receipt.h"
#include "edge/api/context.h"
#include "edge/api/members.h"
#include "edge/api/submission.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;

// The names in an array of strings, of which there must be one.
std::vector<std::string_view> names_in(Members& body, const std::string& key) {
  std::vector<std::string_view> names = body.texts(key);
  if (names.empty()) {
    body.blame(key, key + " is an array with the names of the agents");
  }
  return names;
}

// `all`, `any`, `majority`, `quorum` with the member quorum, or `quorum(N)`.
void read_strategy(Members& body, core::Gathering& gathering) {
  std::string_view word = body.text("strategy", "all");
  std::optional<uint64_t> quorum =
      body.number("quorum", "the strategy quorum needs a quorum of 1 or more");
  if (word.starts_with("quorum(") && word.ends_with(")")) {
    quorum = parse_number(word.substr(7, word.size() - 8)).value_or(0);
    word = "quorum";
  }
  const auto found = core::strategy_words.find(word);
  if (!found) {
    body.blame("strategy", "a strategy is all, any, majority or quorum(N)");
    return;
  }
  gathering.strategy = *found;
  if (gathering.strategy == core::Strategy::quorum && quorum.value_or(0) == 0) {
    body.blame("quorum", "the strategy quorum needs a quorum of 1 or more");
  }
  gathering.quorum = static_cast<uint32_t>(std::min<uint64_t>(quorum.value_or(0), UINT32_MAX));
}

core::Gathering gathering_in(Members& body) {
  core::Gathering gathering;
  read_strategy(body, gathering);
  gathering.window = body.duration("timeout");
  const auto ending = core::on_partial_words.find(
      body.text("on_partial", core::on_partial_words[core::OnPartial::proceed_with_available]));
  if (!ending) {
    body.blame("on_partial", "on_partial is proceed_with_available, fail or extend_timeout");
  }
  gathering.on_partial = ending.value_or(core::OnPartial::proceed_with_available);
  return gathering;
}

// The dialect's word for a message of this kind.
std::string_view word_for(const dialect::Codec& codec, core::Kind kind) {
  core::Envelope envelope;
  envelope.dialect = codec.dialect;
  envelope.kind = kind;
  return codec.type(envelope);
}

// What a message of the dialect is that someone can answer: `a request or a query`.
std::string words_for_asking(const dialect::Codec& codec) {
  const std::string request = "a " + std::string(word_for(codec, core::Kind::request));
  return codec.tells_questions_apart
             ? request + " or a " + std::string(word_for(codec, core::Kind::query))
             : request;
}

// The message as it is sent to the first receiver: the receiver and the type may be left out.
std::string message_in(Members& body, const dialect::Codec& codec, std::string_view receiver) {
  const Json message = body.find("message");
  if (!message.is_object()) {
    body.blame("message", "message is the message to send, an object");
    return {};
  }
  const std::string_view type_key = codec.field("/type").substr(1);
  const Json type = message.find(type_key);
  const auto meaning = codec.meaning(type.as_string().value_or(""));
  if (type && (!meaning || !core::asks(meaning->kind))) {
    body.blame("message/" + std::string(type_key),
               "what is to be answered is " + words_for_asking(codec));
  }
  std::string text = "{";
  const std::string_view to = codec.field("/receiver").substr(1);
  if (!message.find(to)) {
    lib::append_json_string(text, to);
    JsonWriter(text.append(":")).text(receiver);
  }
  if (!type) {
    text.append(text.size() > 1 ? "," : "");
    lib::append_json_string(text, type_key);
    text.append(":");
    lib::append_json_string(text, word_for(codec, core::Kind::request));
  }
  const std::string_view raw = message.raw();
  text.append(text.size() > 1 && !message.empty() ? "," : "").append(raw.substr(1));
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
  out.key("strategy").plain(core::strategy_words[gather.terms.strategy]);
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
      out.key("status").plain(word_of(member.status));
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
    if (const auto* own = by_name(caller.name, target.id); own != nullptr) {
      return may_see(caller, *own) ? own : nullptr;
    }
  }
  const auto at = target.seq.n != 0 ? all.find(target.seq)
                                    : std::ranges::find_if(all, [&](const auto& item) {
                                        return item.second.id == target.id;
                                      });
  return at != all.end() && may_see(caller, at->second) ? &at->second : nullptr;
}

// Sends the message of a pattern, to its first receiver as it is written.
void submit_pattern(Call& call, Members& body, std::string_view receiver, Submission pattern) {
  const auto codec = call.codec();
  if (node::Broker::Done done = reply_receipt(call, call.caller.dialect);
      codec && call.context->submissions->submit_if_private(call.caller, *codec,
                                                            body.find("message"), done)) {
    return;
  }
  const std::string text = codec ? message_in(body, *codec, receiver) : std::string();
  auto submission = submission_of(call);
  if (body.error() || !codec || !submission) {
    refuse_message(call, body.error() ? *body.error()
                         : !codec     ? codec.error()
                                      : submission.error());
    return;
  }
  submission->receivers = std::move(pattern.receivers);
  submission->gathering = pattern.gathering;
  submission->later_stages = std::move(pattern.later_stages);
  lib::JsonDocument document;
  const auto message = document.parse(text);
  if (!message) {
    call.refuse(message.error());
    return;
  }
  call.context->submissions->submit(call.caller, *codec, *message, *submission,
                                    reply_receipt(call, codec->dialect));
}

void scatter(Call& call) {
  Members body(call.body);
  std::vector<std::string_view> receivers = names_in(body, "receivers");
  const std::string_view first = receivers.empty() ? std::string_view{} : receivers.front();
  submit_pattern(call, body, first,
                 {.receivers = std::move(receivers), .gathering = gathering_in(body)});
}

void start_pipeline(Call& call) {
  Members body(call.body);
  const std::vector<std::string_view> stages = names_in(body, "stages");
  if (stages.size() < 2) {
    body.blame("stages", "a pipeline has two stages or more; for one, send a request");
  }
  const std::string_view first = stages.empty() ? std::string_view{} : stages.front();
  Submission pattern{.receivers = {first}};
  pattern.later_stages.assign(stages.begin() + (stages.empty() ? 0 : 1), stages.end());
  submit_pattern(call, body, first, std::move(pattern));
}

void show_scatter(Call& call) {
  const auto target = call.target(Names::First::sent);
  if (!target) {
    call.refuse(target.error());
    return;
  }
  const core::PendingWork& pending = call.tables().pending;
  const core::Gather* const found = find_for(
      call.caller, *target, pending.gathers(),
      [&](std::string_view owner, const auto& id) { return pending.find_gather(owner, id); });
  if (found == nullptr) {
    call.refuse(Error{Code::not_found, "there is no such scatter of yours", {}});
    return;
  }
  call.respond(json_response(200, gather_text(call.tables(), *found)));
}

void show_pipeline(Call& call) {
  const auto target = call.target(Names::First::sent);
  if (!target) {
    call.refuse(target.error());
    return;
  }
  const core::PendingWork& pending = call.tables().pending;
  const core::Pipeline* const found = find_for(
      call.caller, *target, pending.pipelines(),
      [&](std::string_view owner, const auto& id) { return pending.find_pipeline(owner, id); });
  if (found == nullptr) {
    call.refuse(Error{Code::not_found, "there is no such pipeline of yours", {}});
    return;
  }
  call.respond(json_response(200, pipeline_text(call.tables(), *found)));
}

}  // namespace

std::span<const Route> pattern_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/v1/scatter",
       .handler = scatter,
       .parameters = {query::flag("lenient"), query::text("session"),
                      query::text("on_unavailable")},
       .body = body_with_message_of(
           {"receivers", "message", "strategy", "quorum", "timeout", "on_partial"}),
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/scatter/{}",
       .handler = show_scatter,
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/pipelines",
       .handler = start_pipeline,
       .parameters = {query::flag("lenient"), query::text("session"),
                      query::text("on_unavailable")},
       .body = body_with_message_of({"stages", "message"}),
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/pipelines/{}",
       .handler = show_pipeline,
       .who = Who::principal},
  };
  return routes;
}

}  // namespace parley::edge
