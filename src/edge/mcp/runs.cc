// SPDX-License-Identifier: Apache-2.0
// Calls: from the request to the answer, with the client's own answers in between.
#include "edge/mcp/server.h"

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

bool can_be_asked(const Abilities& can, const Question& question) {
  if (question.method == "sampling/createMessage") {
    return can.sampling;
  }
  if (question.method == "roots/list") {
    return can.roots;
  }
  const bool by_url = question.params.find(R"("mode":"url")") != std::string::npos;
  return by_url ? can.elicitation_url : can.elicitation;
}

}  // namespace

void Server::start(Stream& stream, const Message& message, const Client& client, const Act& act,
                   std::string_view name, Json arguments, std::string_view arguments_text) {
  if (run_counts_.of(client.principal) >= options_.limits.runs_per_principal_max) {
    answer(stream, error_text(message.id, {limit_reached,
                                           "too many calls are not answered yet "
                                           "(mcp.runs_per_principal_max)"}));
    return;
  }
  if (!arguments) {
    arguments = *again_.parse(arguments_text);  // an object of our own making
  }
  auto made = std::make_unique<Running>();
  Running& run = *made;
  run.number = ++last_number_;
  run.stream = stream.number;
  run.session = stream.session;
  run.id = message.id;
  run.method = message.method;
  run.name = name;
  run.act = &act;
  run.client = client;
  run.arguments = arguments_text;
  const Json token = message.meta("progressToken");
  if (token && (token.as_string() || token.as_double())) {
    run.progress_token = token.raw();
  }
  Session* const session = session_of(stream);
  const Json level = message.meta("io.modelcontextprotocol/logLevel");
  run.level = session != nullptr ? std::optional(session->level)
              : level            ? find_level(level.as_string().value_or(""))
                                 : std::nullopt;
  if (client.era == Era::modern && !take_answers(run, message, arguments)) {
    answer(stream, error_text(run.id, {invalid_params,
                                       "inputResponses is an object of objects, and requestState "
                                       "what was given for this very request: start anew"}));
    return;
  }
  run_counts_.add(client.principal);
  stream.runs.insert(run.number);
  if (session != nullptr) {
    session->runs[run.id] = run.number;
  }
  runs_.emplace(run.number, std::move(made));
  this->act(run, arguments);
}

// What the client was asked for in an earlier call of the modern era: its answers, and the state
// that it carried. False when either is not what it should be.
bool Server::take_answers(Running& run, const Message& message, Json arguments) {
  if (const Json sealed = message.param("requestState")) {
    const auto text = sealed.as_string();
    const auto opened =
        text ? lib::unseal(options_.key, *text, seal_context(run, arguments)) : std::nullopt;
    lib::JsonDocument document;
    const auto state = opened ? document.parse(*opened)
                              : std::expected<Json, base::Error>(std::unexpected(base::Error{}));
    if (!state || state->find("until").as_int64().value_or(0) < now().us) {
      return false;
    }
    run.state = state->find("state").as_string().value_or("");
    for (const lib::JsonMember answer : state->find("answers").members()) {
      run.answers[std::string(answer.key)] = answer.value.raw();
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
      run.answers[std::string(answer.key)] = answer.value.raw();
    }
  }
  return true;
}

// State opens only for the same principal and the same call.
std::string Server::seal_context(const Running& run, Json arguments) const {
  std::string call;
  append_canonical(call, arguments);
  const auto digest = lib::sha256(call);
  const Principal& principal = run.client.principal;
  std::string context;
  JsonWriter out(context);
  out.array().number(uint64_t{static_cast<uint32_t>(principal.workspace)});
  out.text(principal.name).text(run.method).text(run.name).end_array();
  return context.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

void Server::act(Running& run, Json arguments) {
  const uint64_t number = run.number;
  const bool is_resource = run.method == "resources/read";
  run.is_acting = true;
  (*run.act)(Ask{.run = Run(*this, number),
                 .client = run.client,
                 .arguments = arguments,
                 .uri = is_resource ? std::string_view(run.name) : std::string_view{},
                 .state = run.state,
                 .answers = run.answers});
  run.is_acting = false;
  if (run.is_over) {
    runs_.erase(number);
  } else if (run.timer == 0) {
    run.timer = waits_.add(now() + options_.limits.stream_after, [this, number] {
      Running* const late = find_run(number);
      Stream* const stream = late != nullptr ? streams_.find(late->stream) : nullptr;
      if (stream != nullptr) {
        begin_events(*stream);
      }
    });
  }
}

Running* Server::find_run(uint64_t number) {
  const auto at = runs_.find(number);
  return at == runs_.end() || at->second->is_over ? nullptr : at->second.get();
}

// Takes the call out of all that knows it.
void Server::drop(Running& run, Host::Outcome outcome) {
  run.is_over = true;
  if (run.method == "tools/call") {
    host_.called(run.name, outcome);
  }
  waits_.remove(run.timer);
  run_counts_.remove(run.client.principal);
  if (Stream* const stream = streams_.find(run.stream)) {
    stream->runs.erase(run.number);
  }
  if (Session* const session = sessions_.find(run.session)) {
    session->runs.erase(run.id);
    std::erase_if(session->asked,
                  [&](const auto& asked) { return asked.second.run == run.number; });
  }
}

void Server::finish(Running& run, Outgoing answer, int status, Host::Outcome outcome) {
  withdraw_questions(run);
  drop(run, outcome);
  if (Stream* const stream = streams_.find(run.stream)) {
    this->answer(*stream, std::move(answer), status);
  }
  if (!run.is_acting) {
    runs_.erase(run.number);
  }
}

void Server::finish_result(Running& run, const Result& result) {
  const Host::Outcome outcome =
      result.has_failed ? Host::Outcome::failed : Host::Outcome::done;
  std::string all = result.members;
  if (result.has_failed) {
    all += R"(,"isError":true)";
  }
  if (run.client.era == Era::legacy) {
    finish(run, {result_text(run.id, all), result.reports}, 200, outcome);
    return;
  }
  if (run.method == "resources/read") {
    all += R"(,"ttlMs":0,"cacheScope":"private")";
  }
  finish(run, {modern_result(run.id, all), result.reports}, 200, outcome);
}

void Server::finish_fault(Running& run, const Fault& fault) {
  const bool is_status = run.client.era == Era::modern && fault.code == missing_ability;
  finish(run, error_text(run.id, fault), is_status ? 400 : 200, Host::Outcome::refused);
}

// The client cancelled it, or nobody can hear the answer any more.
void Server::cancel(Running& run) {
  const std::function<void()> undo = std::move(run.undo);
  drop(run, Host::Outcome::cancelled);
  if (undo) {
    undo();
  }
  if (Stream* const stream = streams_.find(run.stream);
      stream != nullptr && stream->kind == Stream::Kind::post) {
    answer(*stream, {}, 202);
  }
  if (!run.is_acting) {
    runs_.erase(run.number);
  }
}

void Server::refuse_ask(Running& run, const std::string& why, std::string_view required) {
  if (run.client.era == Era::modern) {
    finish_fault(
        run, {missing_ability, why, R"({"requiredCapabilities":)" + std::string(required) + "}"});
  } else if (run.method == "tools/call") {
    finish_result(run, tool_error(why));
  } else {
    finish_fault(run, {invalid_request, why});
  }
}

void Server::ask_modern(Running& run, const std::vector<Question>& questions,
                        const std::string& state) {
  std::string carried;
  JsonWriter kept(carried);
  kept.object().key("until").number((now() + options_.limits.state_ttl).us);
  kept.key("state").text(state).key("answers").object();
  for (const auto& [key, answer] : run.answers) {
    kept.key(key).raw(answer);
  }
  kept.end_object().end_object();
  lib::JsonDocument document;
  const auto arguments = document.parse(run.arguments);
  if (carried.size() > options_.limits.state_bytes_max || !arguments) {
    finish_fault(run, {internal_error, "the answers so far are too large to go on"});
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
  out.plain(lib::seal(options_.key, carried, seal_context(run, *arguments)));
  finish(run, modern_result(run.id, members, "input_required"), 200, Host::Outcome::done);
}

// On which a client of the legacy era hears what it is asked; nullptr when it can hear nothing.
Stream* Server::stream_to_ask(const Running& run) {
  Stream* const stream = streams_.find(run.stream);
  Session* const session = sessions_.find(run.session);
  return session == nullptr || stream == nullptr ? nullptr
         : stream->takes_events                  ? stream
                                                 : streams_.find(session->stream);
}

// The call is over, and what the client was asked for it and has not answered is wanted no more.
void Server::withdraw_questions(const Running& run) {
  Stream* const stream = run.client.era == Era::legacy ? stream_to_ask(run) : nullptr;
  Session* const session = sessions_.find(run.session);
  if (session == nullptr || stream == nullptr) {
    return;
  }
  for (const auto& [id, asked] : session->asked) {
    if (asked.run == run.number) {
      std::string params;
      JsonWriter out(params);
      out.object().key("requestId").number(id);
      out.key("reason").plain("the call is over").end_object();
      tell(*stream, notification_text("notifications/cancelled", params));
    }
  }
}

void Server::ask_legacy(Running& run, const std::vector<Question>& questions, std::string state) {
  Stream* const stream = stream_to_ask(run);
  Session* const session = sessions_.find(run.session);
  if (session == nullptr || stream == nullptr) {
    refuse_ask(run, "the client takes no event stream, so it cannot be asked", "{}");
    return;
  }
  run.state = std::move(state);
  run.questions = questions.size();
  run.asked_at = now();
  for (const Question& question : questions) {
    const uint64_t id = ++session->last_request;
    session->asked[id] = {run.number, question.key};
    tell(*stream, request_text(id, question.method, question.params));
  }
}

void Run::done(const Result& result) const {
  if (Running* const run = server_->find_run(id_)) {
    server_->finish_result(*run, result);
  }
}

void Run::fail(const Fault& fault) const {
  if (Running* const run = server_->find_run(id_)) {
    server_->finish_fault(*run, fault);
  }
}

void Run::progress(double done, double total, std::string_view message) const {
  Running* const run = server_->find_run(id_);
  Stream* const stream = run != nullptr ? server_->streams_.find(run->stream) : nullptr;
  if (stream == nullptr || run->progress_token.empty()) {
    return;
  }
  std::string params;
  JsonWriter out(params);
  out.object().key("progressToken").raw(run->progress_token).key("progress").real(done);
  out.key("total").real(total);
  if (!message.empty()) {
    out.key("message").text(message);
  }
  out.end_object();
  server_->tell(*stream, notification_text("notifications/progress", params));
}

void Run::log(Level level, std::string_view logger, std::string_view data_json) const {
  Running* const run = server_->find_run(id_);
  Stream* const stream = run != nullptr ? server_->streams_.find(run->stream) : nullptr;
  if (stream == nullptr || !run->level || level < *run->level) {
    return;
  }
  std::string params;
  JsonWriter out(params);
  out.object().key("level").plain(name_of(level));
  if (!logger.empty()) {
    out.key("logger").text(logger);
  }
  out.key("data").raw(data_json).end_object();
  server_->tell(*stream, notification_text("notifications/message", params));
}

void Run::on_cancel(std::function<void()> undo) const {
  if (Running* const run = server_->find_run(id_)) {
    run->undo = std::move(undo);
  }
}

bool Run::is_over() const { return server_->find_run(id_) == nullptr; }

bool Run::tells_progress() const {
  const Running* const run = server_->find_run(id_);
  return run != nullptr && !run->progress_token.empty();
}

void Run::ask(std::vector<Question> questions, std::string state) const {
  Running* const run = server_->find_run(id_);
  if (run == nullptr) {
    return;
  }
  if (questions.empty() || questions.size() > server_->options_.limits.questions_max) {
    server_->finish_fault(*run, {internal_error, "asked the client for nothing, or too much"});
    return;
  }
  for (const Question& question : questions) {
    if (!can_be_asked(run->client.can, question)) {
      server_->refuse_ask(*run, "the client has not declared that it takes " + question.method,
                          required_for(question.method));
      return;
    }
  }
  if (run->client.era == Era::modern) {
    server_->ask_modern(*run, questions, state);
  } else {
    server_->ask_legacy(*run, questions, std::move(state));
  }
}

bool Run::can_ask() const {
  const Running* const run = server_->find_run(id_);
  return run != nullptr &&
         (run->client.era == Era::modern || server_->stream_to_ask(*run) != nullptr);
}

void Run::hang_up() const {
  Running* const run = server_->find_run(id_);
  Stream* const stream = run != nullptr ? server_->streams_.find(run->stream) : nullptr;
  Session* const session = stream != nullptr ? server_->session_of(*stream) : nullptr;
  if (session == nullptr || session->version < Version::v2025_11_25 || !stream->takes_events ||
      !stream->exchange || stream->kind != Stream::Kind::post) {
    return;
  }
  constexpr std::string_view retry = "retry: 500\n\n";
  server_->begin_events(*stream);
  server_->host_.send(stream->exchange->connection, retry);
  server_->hang_up(*stream);
}

}  // namespace parley::edge::mcp
