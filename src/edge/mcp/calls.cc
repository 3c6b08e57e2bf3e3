// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/calls.h"

#include <functional>
#include <optional>
#include <utility>

#include "base/text.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

// What the client must have declared to be asked by this method, as ClientCapabilities.
std::string_view required_for(std::string_view method) {
  return method == "sampling/createMessage" ? R"({"sampling":{}})"
         : method == "roots/list"           ? R"({"roots":{}})"
                                            : R"({"elicitation":{}})";
}

bool can_be_asked(const ClientCapabilities& can, const Question& question) {
  if (question.method == "sampling/createMessage") {
    return can.sampling;
  }
  if (question.method == "roots/list") {
    return can.roots;
  }
  // The two kinds of elicitation are one method, and told apart by a parameter.
  const bool by_url = question.params.find(R"("mode":"url")") != std::string::npos;
  return by_url ? can.elicitation_url : can.elicitation;
}

// What it keeps of its client's words.
uint64_t bytes_of(const OpenCall& call) {
  uint64_t bytes = call.id.size() + call.name.size() + call.arguments.size() + call.state.size() +
                   call.progress_token.size() + call.client.name.size() +
                   call.client.traceparent.size() + call.client.tracestate.size();
  for (const auto& [key, answer] : call.answers) {
    bytes += key.size() + answer.size();
  }
  return bytes;
}

}  // namespace

void Calls::start(ResponseStream& stream, const RpcMessage& message, const Client& client,
                  const Callee& callee) {
  if (counts_.of(client.principal) >= state_.options.limits.runs_per_principal_max) {
    transport_.answer(stream, error_text(message.id, {limit_reached,
                                                      "too many calls are not answered yet "
                                                      "(mcp.runs_per_principal_max)"}));
    return;
  }
  Json arguments = callee.arguments;
  if (!arguments) {
    arguments = *arguments_.parse(callee.arguments_text);  // an object of our own making
  }
  auto made = std::make_unique<OpenCall>();
  OpenCall& call = *made;
  call.number = state_.next_number();
  call.stream = stream.number;
  call.session = stream.session;
  call.id = message.id;
  call.method = message.method;
  call.name = callee.name;
  call.handler = &callee.handler;
  call.client = client;
  call.arguments = callee.arguments_text;
  const Json token = message.meta("progressToken");
  if (token.as_string() || token.as_double()) {
    call.progress_token = token.raw();
  }
  McpSession* const session = transport_.session_of(stream);
  const Json level = message.meta("io.modelcontextprotocol/logLevel");
  call.level = session != nullptr ? std::optional(session->level)
               : level            ? find_level(level.as_string().value_or(""))
                                  : std::nullopt;
  if (client.era == Era::modern && !take_answers(call, message, arguments)) {
    transport_.answer(
        stream, error_text(call.id, {invalid_params,
                                     "inputResponses is an object of objects, and requestState "
                                     "what was given for this very request: start anew"}));
    return;
  }
  call.held = bytes_of(call);
  if (!state_.may_hold(client.principal, call.held)) {
    transport_.answer(stream, error_text(call.id, {limit_reached, std::string(held_too_much)}));
    return;
  }
  counts_.add(client.principal);
  state_.held.add(client.principal, call.held);
  stream.calls.insert(call.number);
  if (session != nullptr) {
    session->calls[call.id] = call.number;
  }
  calls_.emplace(call.number, std::move(made));
  act(call, arguments);
}

// A client of the modern era repeats the call to answer a question, with its answers and the state
// that it was given. False when either is not what it should be.
bool Calls::take_answers(OpenCall& call, const RpcMessage& message, Json arguments) {
  if (const Json sealed = message.param("requestState")) {
    const auto text = sealed.as_string();
    const auto opened =
        text ? lib::unseal(state_.options.key, *text, seal_context(call, arguments)) : std::nullopt;
    lib::JsonDocument document;
    const auto state = opened ? document.parse(*opened)
                              : std::expected<Json, base::Error>(std::unexpected(base::Error{}));
    if (!state || state->find("until").as_int64().value_or(0) < state_.now().us) {
      return false;
    }
    call.state = state->find("state").as_string().value_or("");
    for (const lib::JsonMember answer : state->find("answers").members()) {
      call.answers[std::string(answer.key)] = answer.value.raw();
    }
  }
  if (const Json answers = message.param("inputResponses")) {
    if (!answers.is_object()) {
      return false;
    }
    for (const lib::JsonMember answer : answers.members()) {
      if (!answer.value.is_object()) {
        return false;
      }
      call.answers[std::string(answer.key)] = answer.value.raw();
    }
  }
  return true;
}

// The state that a client carries is sealed with this, so it opens only for the same principal and
// the same call.
std::string Calls::seal_context(const OpenCall& call, Json arguments) const {
  std::string canonical;
  append_canonical(canonical, arguments);
  const auto digest = lib::sha256(canonical);
  const Principal& principal = call.client.principal;
  std::string context;
  JsonWriter out(context);
  out.array().number(uint64_t{static_cast<uint32_t>(principal.workspace)});
  out.text(principal.name).number(principal.registered.us);
  out.text(call.method).text(call.name).end_array();
  return context.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

void Calls::act(OpenCall& call, Json arguments) {
  const uint64_t number = call.number;
  const bool is_resource = call.method == "resources/read";
  // The handler may end the call, or even the stream: the record must outlive it.
  call.is_acting = true;
  (*call.handler)(CallContext{.call = CallHandle(*this, number),
                              .client = call.client,
                              .arguments = arguments,
                              .uri = is_resource ? std::string_view(call.name) : std::string_view{},
                              .state = call.state,
                              .answers = call.answers});
  call.is_acting = false;
  if (call.is_over) {
    calls_.erase(number);
  } else if (call.timer == 0) {
    call.timer =
        state_.waits.add(state_.now() + state_.options.limits.stream_after, [this, number] {
          // A call that takes long answers by events: an idle connection would look dead.
          if (ResponseStream* const stream = stream_of(find(number))) {
            transport_.begin_events(*stream);
          }
        });
  }
}

OpenCall* Calls::find(uint64_t number) {
  const auto at = calls_.find(number);
  return at == calls_.end() || at->second->is_over ? nullptr : at->second.get();
}

ResponseStream* Calls::stream_of(const OpenCall* call) const {
  return call == nullptr ? nullptr : state_.streams.find(call->stream);
}

// Takes the call out of all tables. Its record stays while its function runs, which uses it.
void Calls::drop(OpenCall& call, Host::Outcome outcome) {
  call.is_over = true;
  if (call.method == "tools/call") {
    state_.host.called(call.name, outcome);
  }
  state_.waits.remove(call.timer);
  for (const Waits::Id timer : call.timers) {
    state_.waits.remove(timer);
  }
  counts_.remove(call.client.principal);
  state_.held.remove(call.client.principal, call.held);
  if (ResponseStream* const stream = state_.streams.find(call.stream)) {
    stream->calls.erase(call.number);
  }
  if (McpSession* const session = state_.sessions.find(call.session)) {
    session->calls.erase(call.id);
    std::erase_if(session->asked,
                  [&](const auto& asked) { return asked.second.call == call.number; });
  }
}

void Calls::finish(OpenCall& call, Outgoing answer, int status, Host::Outcome outcome) {
  withdraw_questions(call);
  drop(call, outcome);
  if (ResponseStream* const stream = state_.streams.find(call.stream)) {
    transport_.answer(*stream, std::move(answer), status);
  }
  if (!call.is_acting) {
    calls_.erase(call.number);
  }
}

void Calls::finish_with_result(OpenCall& call, const Result& result) {
  const Host::Outcome outcome = result.has_failed ? Host::Outcome::failed : Host::Outcome::done;
  std::string all = result.members;
  if (result.has_failed) {
    all += R"(,"isError":true)";
  }
  if (call.client.era == Era::legacy) {
    finish(call, {result_text(call.id, all), result.reports}, 200, outcome);
    return;
  }
  if (call.method == "resources/read") {
    all += R"(,"ttlMs":0,"cacheScope":"private")";
  }
  finish(call, {state_.modern_result(call.id, all), result.reports}, 200, outcome);
}

void Calls::finish_with_error(OpenCall& call, const RpcError& error) {
  // This one error has a status of HTTP of its own; others are answers like any other.
  const bool is_status = call.client.era == Era::modern && error.code == missing_capability;
  finish(call, error_text(call.id, error), is_status ? 400 : 200, Host::Outcome::refused);
}

void Calls::cancel(uint64_t number) {
  OpenCall* const found = find(number);
  if (found == nullptr) {
    return;
  }
  OpenCall& call = *found;
  const std::function<void()> undo = std::move(call.undo);
  drop(call, Host::Outcome::cancelled);
  if (undo) {
    undo();
  }
  if (ResponseStream* const stream = state_.streams.find(call.stream);
      stream != nullptr && stream->kind == ResponseStream::Kind::post) {
    transport_.answer(*stream, {}, 202);
  }
  if (!call.is_acting) {
    calls_.erase(call.number);
  }
}

void Calls::ask(OpenCall& call, const std::vector<Question>& questions, std::string state) {
  if (questions.empty() || questions.size() > state_.options.limits.questions_max) {
    finish_with_error(call, {internal_error, "asked the client for nothing, or too much"});
    return;
  }
  for (const Question& question : questions) {
    if (!can_be_asked(call.client.can, question)) {
      refuse_ask(call, "the client has not declared that it takes " + question.method,
                 required_for(question.method));
      return;
    }
  }
  if (call.client.era == Era::modern) {
    ask_modern(call, questions, state);
  } else {
    ask_legacy(call, questions, std::move(state));
  }
}

// The client cannot be asked. The modern era has an error for that; in the legacy one the model
// reads it as the result of its tool.
void Calls::refuse_ask(OpenCall& call, const std::string& why, std::string_view required) {
  if (call.client.era == Era::modern) {
    finish_with_error(call, {missing_capability, why,
                             R"({"requiredCapabilities":)" + std::string(required) + "}"});
  } else if (call.method == "tools/call") {
    finish_with_result(call, tool_error(why));
  } else {
    finish_with_error(call, {invalid_request, why});
  }
}

// In the modern era the call ends with the questions: the client carries the state, sealed, and
// calls again. So an open question costs the broker no memory.
void Calls::ask_modern(OpenCall& call, const std::vector<Question>& questions,
                       const std::string& state) {
  std::string carried;
  JsonWriter kept(carried);
  kept.object().key("until").number((state_.now() + state_.options.limits.state_ttl).us);
  kept.key("state").text(state).key("answers").object();
  for (const auto& [key, answer] : call.answers) {
    kept.key(key).raw(answer);
  }
  kept.end_object().end_object();
  lib::JsonDocument document;
  const auto arguments = document.parse(call.arguments);
  if (carried.size() > state_.options.limits.state_bytes_max || !arguments) {
    finish_with_error(call, {internal_error, "the answers so far are too large to go on"});
    return;
  }
  std::string members;
  JsonWriter out(members);
  out.key("inputRequests").object();
  for (const Question& question : questions) {
    out.key(question.key).object().key("method").text(question.method);
    out.key("params").raw(question.params.empty() ? "{}" : question.params).end_object();
  }
  out.end_object().key("requestState");
  out.plain(lib::seal(state_.options.key, carried, seal_context(call, *arguments)));
  finish(call, state_.modern_result(call.id, members, "input_required"), 200, Host::Outcome::done);
}

// A client of the legacy era hears what it is asked on the stream of the call, or else on its own
// one; nullptr when it can hear nothing.
ResponseStream* Calls::stream_to_ask(const OpenCall& call) const {
  ResponseStream* const stream = state_.streams.find(call.stream);
  McpSession* const session = state_.sessions.find(call.session);
  return session == nullptr || stream == nullptr ? nullptr
         : stream->takes_events                  ? stream
                                                 : state_.streams.find(session->stream);
}

// The call is over. A client of the legacy era need not answer its questions any more.
void Calls::withdraw_questions(const OpenCall& call) {
  ResponseStream* const stream = call.client.era == Era::legacy ? stream_to_ask(call) : nullptr;
  McpSession* const session = state_.sessions.find(call.session);
  if (session == nullptr || stream == nullptr) {
    return;
  }
  for (const auto& [id, asked] : session->asked) {
    if (asked.call == call.number) {
      std::string params;
      JsonWriter out(params);
      out.object().key("requestId").number(id);
      out.key("reason").plain("the call is over").end_object();
      transport_.send(*stream, notification_text("notifications/cancelled", params));
    }
  }
}

// In the legacy era the questions are requests to the client, and the call waits for its responses.
void Calls::ask_legacy(OpenCall& call, const std::vector<Question>& questions, std::string state) {
  ResponseStream* const stream = stream_to_ask(call);
  McpSession* const session = state_.sessions.find(call.session);
  if (session == nullptr || stream == nullptr) {
    refuse_ask(call, "the client takes no event stream, so it cannot be asked", "{}");
    return;
  }
  call.state = std::move(state);
  call.questions = questions.size();
  call.asked_at = state_.now();
  for (const Question& question : questions) {
    const uint64_t id = ++session->last_request;
    session->asked[id] = {call.number, question.key};
    transport_.send(*stream, request_text(id, question.method, question.params));
  }
}

void Calls::take_response(McpSession& session, const RpcMessage& message) {
  const auto number = base::parse_number(message.id);
  const auto asked = number ? session.asked.extract(*number) : decltype(session.asked.extract(0)){};
  OpenCall* const call = asked ? find(asked.mapped().call) : nullptr;
  if (call == nullptr) {
    return;  // nobody asked this, or the call is over
  }
  const std::string_view said = message.result.raw();
  if (message.result && state_.may_hold(call->client.principal, said.size())) {
    call->answers[asked.mapped().key] = said;
    call->held += said.size();
    state_.held.add(call->client.principal, said.size());
  } else {
    // The client answered with an error, or says too much: that counts as if its user had cancelled
    // the form.
    call->answers[asked.mapped().key] = R"({"action":"cancel"})";
  }
  if (--call->questions == 0) {
    const auto arguments = arguments_.parse(call->arguments);
    act(*call, arguments ? *arguments : Json());
  }
}

void Calls::end_unanswered(base::Time now) {
  // Collected first: ending a call takes it out of the table.
  std::vector<uint64_t> unanswered;
  for (const auto& [number, call] : calls_) {
    if (call->questions > 0 && call->asked_at + state_.options.limits.state_ttl < now) {
      unanswered.push_back(number);
    }
  }
  for (const uint64_t number : unanswered) {
    if (OpenCall* const call = find(number)) {
      refuse_ask(*call, "the client did not answer in time", "{}");
    }
  }
}

}  // namespace parley::edge::mcp
