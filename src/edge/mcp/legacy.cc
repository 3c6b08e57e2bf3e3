// SPDX-License-Identifier: Apache-2.0
// 2025-11-25 and older: a client begins a session, and the server may ask it back.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "edge/call.h"
#include "edge/mcp/server.h"
#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr int not_acceptable = 406;
constexpr int too_many = 429;

Fault no_session(bool named) {
  return {invalid_request,
          named
              ? "there is no such session, or it has ended: begin one with initialize"
              : "send the header Mcp-Session-Id that initialize gave, or a request of 2026-07-28"};
}

// JSON-RPC's batches were in 2025-03-26, and nothing said against them before.
bool takes_batches(Version version) { return version <= Version::v2025_03_26; }

}  // namespace

Session* Server::find_session(const Request& request) {
  std::string id(request.http.header("mcp-session-id"));
  if (id.empty()) {
    const Call call{request.exchange, request.http, {}, {}};
    id = call.parameter("sessionId").value_or("");
  }
  const auto at = sessions_.find(id);
  Session* session = at != sessions_.end() ? at->second.get() : revive(id, request.principal);
  // Another's session is none: whoever has its id still needs the token.
  if (session == nullptr || session->client.principal.workspace != request.principal.workspace ||
      session->client.principal.name != request.principal.name) {
    refuse(request.exchange, id.empty() ? 400 : 404, no_session(!id.empty()));
    return nullptr;
  }
  if (session->client.principal.ref != request.principal.ref ||
      !host_.is_current(session->client.principal)) {
    // Its token was replaced, or its agent was removed and is there anew: what the former holder
    // began here ends. Messages and tasks are the name's, and stay.
    end_session(*session, Ending::may_return);
    session = revive(id, request.principal);
    if (session == nullptr) {
      refuse(request.exchange, 404, no_session(true));
      return nullptr;
    }
  }
  session->used = now();
  session->client.principal = request.principal;
  return session;
}

namespace {

constexpr std::string_view session_context = "mcp session";
constexpr size_t client_name_bytes_max = 128;

}  // namespace

// The id of a session says what it is, and nobody else can make one. So a session goes on after
// the broker was started anew, or had no room for it: many clients never begin a second one.
std::string Server::seal_session(const Session& session) const {
  const Client& client = session.client;
  std::string text;
  JsonWriter out(text);
  out.object().key("w").number(uint64_t{static_cast<uint32_t>(client.principal.workspace)});
  out.key("n").text(client.principal.name).key("v").plain(name_of(session.version));
  out.key("t").number(now().us).key("c").text(client.name);
  out.key("f").boolean(client.can.elicitation).key("u").boolean(client.can.elicitation_url);
  out.key("s").boolean(client.can.sampling).key("r").boolean(client.can.roots).end_object();
  return lib::seal(options_.key, text, session_context);
}

Session* Server::revive(std::string_view id, const Principal& principal) {
  const auto text = lib::unseal(options_.key, id, session_context);
  const auto parsed = text && !ended_.contains(std::string(id))
                          ? again_.parse(*text)
                          : std::expected<Json, base::Error>(std::unexpected(base::Error{}));
  if (!parsed) {
    return nullptr;
  }
  const base::Time began{parsed->find("t").as_int64().value_or(0)};
  const auto workspace = static_cast<uint32_t>(principal.workspace);
  if (parsed->find("w").as_uint64() != workspace ||
      parsed->find("n").as_string() != principal.name ||
      began + options_.limits.session_life < now()) {
    return nullptr;
  }
  const auto can = [&](std::string_view key) { return parsed->find(key).as_bool() == true; };
  Session session;
  session.id = id;
  session.version = find_version(*parsed->find("v").as_string()).value_or(newest_legacy);
  session.client.principal = principal;
  session.client.name = *parsed->find("c").as_string();
  session.client.can = {can("f"), can("u"), can("s"), can("r")};
  return add_session(std::move(session));
}

// Room for one session more: the principal's, or everyone's, that was idle for longest ends. False
// when all are in use.
bool Server::make_room(const Principal& principal) {
  const auto is_idle = [](const Session* session) {
    return session->stream == 0 && session->runs.empty();
  };
  const auto longer_idle = [&](const Session* a, const Session* b) {
    return is_idle(a) != is_idle(b) ? is_idle(a) : a->used < b->used;
  };
  const auto end_oldest = [&](const std::vector<Session*>& all) {
    Session* const oldest = *std::ranges::min_element(all, longer_idle);
    if (!is_idle(oldest)) {
      return false;
    }
    end_session(*oldest, Ending::may_return);
    return true;
  };
  const std::vector<Session*>& own = load(principal).sessions;
  if (own.size() >= options_.limits.sessions_per_principal_max && !end_oldest(own)) {
    return false;
  }
  if (sessions_.size() < options_.limits.sessions_max) {
    return true;
  }
  std::vector<Session*> all;
  for (const auto& [id, session] : sessions_) {
    all.push_back(session.get());
  }
  return end_oldest(all);
}

Session* Server::add_session(Session begun) {
  const Principal principal = begun.client.principal;
  if (!make_room(principal)) {
    return nullptr;
  }
  auto made = std::make_unique<Session>(std::move(begun));
  made->number = ++last_number_;
  made->used = now();
  Session* const session = made.get();
  sessions_by_number_[session->number] = session;
  load(principal).sessions.push_back(session);
  sessions_.emplace(session->id, std::move(made));
  return session;
}

void Server::end_session(Session& session, Ending ending) {
  if (ending == Ending::for_good) {
    ended_.insert(session.id);
    ended_order_.push_back(session.id);
    if (ended_order_.size() > options_.limits.ended_sessions_max) {
      ended_.erase(ended_order_.front());
      ended_order_.pop_front();
    }
  }
  const uint64_t number = session.number;
  for (const auto& [id, run] : std::exchange(session.runs, {})) {
    if (Running* const open = find_run(run)) {
      cancel(*open);
    }
  }
  std::vector<Stream*> streams;
  for (const auto& [id, stream] : streams_) {
    if (stream->session == number) {
      streams.push_back(stream.get());
    }
  }
  for (Stream* const stream : streams) {
    end_stream(*stream);
  }
  for (const std::string& uri : subscriptions_[number]) {
    const auto at = subscribers_.find({session.client.principal.workspace, uri});
    at->second.erase(number);
    if (at->second.empty()) {
      subscribers_.erase(at);
    }
  }
  subscriptions_.erase(number);
  notices_.erase(number);
  std::erase(load(session.client.principal).sessions, &session);
  sessions_by_number_.erase(number);
  sessions_.erase(std::string(session.id));
}

namespace {

// What `initialize` says of the client.
void take_client(Session& session, const Message& message) {
  const auto wanted = find_version(message.text_param("protocolVersion").value_or(""));
  session.version = wanted && *wanted <= newest_legacy ? *wanted : newest_legacy;
  session.client.era = Era::legacy;
  session.client.can = read_abilities(message.param("capabilities"));
  const Json info = message.param("clientInfo");
  const Json name = info && info.is_object() ? info.find("name") : Json();
  session.client.name = base::cut(name ? name.as_string().value_or("") : "", client_name_bytes_max);
}

std::string greeting(const Catalog& catalog, Version version, std::string_view server_info) {
  std::string members;
  JsonWriter out(members);
  out.key("protocolVersion").plain(name_of(version));
  out.key("capabilities").raw(catalog.capabilities(version));
  out.key("serverInfo").raw(server_info);
  if (!catalog.instructions().empty()) {
    out.key("instructions").text(catalog.instructions());
  }
  return members;
}

}  // namespace

void Server::initialize(const Request& request, const Message& message) {
  if (!message.text_param("protocolVersion")) {
    refuse(request.exchange, 400, {invalid_params, "protocolVersion is missing"}, message.id);
    return;
  }
  Session begun;
  begun.client.principal = request.principal;
  take_client(begun, message);
  begun.id = seal_session(begun);
  const Session* const session = add_session(std::move(begun));
  if (session == nullptr) {
    refuse(request.exchange, too_many,
           {limit_reached,
            "too many sessions are in use (mcp.sessions_per_principal_max, "
            "mcp.sessions_max); end some with DELETE"},
           message.id);
    return;
  }
  net::Response response = json_response(
      200, result_text(message.id, greeting(catalog_, session->version, server_info())));
  response.headers.emplace_back("Mcp-Session-Id", session->id);
  host_.respond(request.exchange, std::move(response));
}

// The messages of a body, one or several. None when they cannot be taken: then the client was told.
std::optional<std::vector<Message>> Server::read_messages(const Request& request,
                                                          const Session& session, Json body) {
  const auto refused = [&](const Fault& fault, std::string_view id = "null") {
    refuse(request.exchange, 400, fault, id);
    return std::nullopt;
  };
  const std::string_view header = request.http.header("mcp-protocol-version");
  const auto version = find_version(header);
  if (!header.empty() && (!version || *version > newest_legacy)) {
    return refused(
        {invalid_request, "the header MCP-Protocol-Version names none that this session is of"});
  }
  std::vector<Json> bodies;
  if (body.is_object()) {
    bodies.push_back(body);
  } else if (body.kind() != lib::JsonKind::array || !takes_batches(session.version)) {
    return refused({invalid_request, "send one message, a JSON object"});
  }
  for (const Json each : body.elements()) {
    bodies.push_back(each);
    if (bodies.size() > options_.limits.batch_max) {
      return refused({limit_reached, "a batch has at most " +
                                         std::to_string(options_.limits.batch_max) + " messages"});
    }
  }
  std::vector<Message> messages;
  for (const Json each : bodies) {
    const auto message = read_message(each);
    if (!message) {
      return refused(message.error().fault, message.error().id);
    }
    messages.push_back(*message);
  }
  return messages;
}

void Server::post_legacy(const Request& request, Json body) {
  const bool has_session = !request.http.header("mcp-session-id").empty() ||
                           request.http.query.find("sessionId=") != std::string_view::npos;
  if (body.is_object() && !has_session) {
    const auto message = read_message(body);
    if (message && message->kind == Message::Kind::request && message->method == "initialize") {
      initialize(request, *message);
      return;
    }
  }
  Session* const session = find_session(request);
  const auto messages = session != nullptr ? read_messages(request, *session, body) : std::nullopt;
  if (!messages) {
    return;
  }
  const auto requests =
      static_cast<size_t>(std::ranges::count(*messages, Message::Kind::request, &Message::kind));
  Stream* stream = nullptr;
  if (session->is_old_transport) {
    stream = find_stream(session->stream);
  } else if (requests > 0) {
    stream = &open(Stream::Kind::post, request, session);
    stream->unanswered = requests;
    stream->is_batch = !body.is_object();
  }
  if (stream == nullptr || session->is_old_transport) {
    host_.respond(request.exchange, {.status = 202, .content_type = {}});
  }
  for (const Message& message : *messages) {
    if (stream != nullptr || message.kind != Message::Kind::request) {
      receive(*session, stream, message);
    }
  }
}

// A message of a session. `stream` is there for a request, and may be gone for what comes after
// the last of them.
void Server::receive(Session& session, Stream* stream, const Message& message) {
  if (message.kind == Message::Kind::response) {
    receive_response(session, message);
    return;
  }
  if (message.kind == Message::Kind::notification) {
    const Json id = message.param("requestId");
    if (message.method == "notifications/cancelled" && id) {
      if (const auto at = session.runs.find(id.raw()); at != session.runs.end()) {
        cancel(*runs_.at(at->second));
      }
    }
    return;
  }
  if (message.method == "ping") {
    answer(*stream, result_text(message.id, ""));
  } else if (message.method == "logging/setLevel") {
    const auto level = find_level(message.text_param("level").value_or(""));
    session.level = level.value_or(session.level);
    answer(*stream, level ? result_text(message.id, "")
                          : error_text(message.id, {invalid_params,
                                                    "level is debug, info, notice, "
                                                    "warning, error, critical, "
                                                    "alert or emergency"}));
  } else if (message.method == "resources/subscribe" || message.method == "resources/unsubscribe") {
    subscribe(session, *stream, message);
  } else if (message.method == "initialize") {
    if (!session.is_old_transport) {
      answer(*stream, error_text(message.id, {invalid_request, "the session has begun already"}));
      return;
    }
    take_client(session, message);
    answer(*stream, result_text(message.id, greeting(catalog_, session.version, server_info())));
  } else {
    Client client = session.client;
    const auto text = [&](std::string_view key) {
      const Json value = message.meta(key);
      return std::string(value ? value.as_string().value_or("") : std::string_view{});
    };
    client.traceparent = text("traceparent");
    client.tracestate = text("tracestate");
    dispatch(*stream, message, client, session.version);
  }
}

// The client's answer to a question. With the last one the call goes on.
void Server::receive_response(Session& session, const Message& message) {
  const auto number = parse_number(message.id);
  const auto asked = number ? session.asked.extract(*number) : decltype(session.asked.extract(0)){};
  Running* const run = asked ? find_run(asked.mapped().run) : nullptr;
  if (run == nullptr) {
    return;  // nobody asked, or the call is over
  }
  if (message.result) {
    run->answers[asked.mapped().key] = message.result.raw();
  } else {
    // It could not be asked, or would not answer: as if its user had turned away.
    run->answers[asked.mapped().key] = R"({"action":"cancel"})";
  }
  if (--run->questions == 0) {
    const auto arguments = again_.parse(run->arguments);
    act(*run, arguments ? *arguments : Json());
  }
}

void Server::subscribe(Session& session, Stream& stream, const Message& message) {
  const auto uri = message.text_param("uri");
  const auto found = uri ? catalog_.resource(*uri) : std::nullopt;
  const auto key = std::pair(session.client.principal.workspace, std::string(uri.value_or("")));
  if (message.method == "resources/unsubscribe") {
    const auto at = subscribers_.find(key);
    if (at != subscribers_.end()) {
      at->second.erase(session.number);
      subscriptions_[session.number].erase(key.second);
      if (at->second.empty()) {
        subscribers_.erase(at);
      }
    }
  } else if (!found || !found->resource->subscribable) {
    answer(stream,
           error_text(message.id, {invalid_params, "there is no such resource to subscribe to"}));
    return;
  } else if (subscriptions_[session.number].size() >= options_.limits.subscriptions_max) {
    answer(stream, error_text(message.id,
                              {limit_reached, "too many subscriptions (mcp.subscriptions_max)"}));
    return;
  } else {
    subscribers_[key].insert(session.number);
    subscriptions_[session.number].insert(key.second);
  }
  answer(stream, result_text(message.id, ""));
}

void Server::get(const Request& request) {
  const bool has_id = !request.http.header("mcp-session-id").empty();
  const std::string_view header = request.http.header("mcp-protocol-version");
  if (!has_id && takes_events(request.http) &&
      (header.empty() || header == name_of(Version::v2024_11_05))) {
    open_old_transport(request);
    return;
  }
  if (!has_id) {
    net::Response response =
        json_response(405, error_text("null", {invalid_request,
                                               "without a session of 2025-11-25 "
                                               "or older only POST is taken"}));
    response.headers.emplace_back("Allow", "POST");
    host_.respond(request.exchange, std::move(response));
    return;
  }
  Session* const session = find_session(request);
  if (session == nullptr) {
    return;
  }
  if (!takes_events(request.http)) {
    refuse(request.exchange, not_acceptable, {invalid_request, "send `Accept: text/event-stream`"});
    return;
  }
  if (load(request.principal).streams >= options_.limits.streams_per_principal_max) {
    refuse(request.exchange, too_many,
           {limit_reached, "too many streams are open (mcp.streams_per_principal_max)"});
    return;
  }
  const std::string_view last_event = request.http.header("last-event-id");
  if (!last_event.empty()) {
    resume(request, *session, last_event);
    return;
  }
  // A message goes to one stream only, so the newest takes the place of the one before.
  if (Stream* const before = find_stream(session->stream)) {
    end_stream(*before);
  }
  Stream& stream = open(Stream::Kind::get, request, session);
  session->stream = stream.number;
  begin_events(stream);
  notices_due_ = true;
}

// HTTP+SSE of 2024-11-05: this stream says where to send requests, and has all the answers.
void Server::open_old_transport(const Request& request) {
  if (load(request.principal).streams >= options_.limits.streams_per_principal_max) {
    refuse(request.exchange, too_many,
           {limit_reached, "too many streams are open (mcp.streams_per_principal_max)"});
    return;
  }
  Session begun;
  begun.client.principal = request.principal;
  begun.is_old_transport = true;
  begun.version = Version::v2024_11_05;
  begun.id = base::format_uuid(lib::random_uuid());
  Session* const session = add_session(std::move(begun));
  if (session == nullptr) {
    refuse(request.exchange, too_many, {limit_reached, "too many sessions are in use"});
    return;
  }
  Stream& stream = open(Stream::Kind::get, request, session);
  session->stream = stream.number;
  begin_events(stream);
  host_.send(request.exchange.connection,
             "event: endpoint\ndata: " + std::string(request.http.path) +
                 "?sessionId=" + session->id + "\n\n");
}

// The client comes back for what it missed of a stream, by the id of the last event it got.
void Server::resume(const Request& request, Session& session, std::string_view last_event) {
  const size_t dash = std::min(last_event.find('-'), last_event.size());
  const auto number = parse_number(last_event.substr(0, dash));
  const auto had = parse_number(last_event.substr(std::min(dash + 1, last_event.size())));
  Stream* stream = number ? find_stream(*number) : nullptr;
  if (stream != nullptr && stream->session != session.number) {
    stream = nullptr;
  }
  const bool is_kept =
      std::ranges::any_of(session.kept, [&](const Kept& event) { return event.stream == number; });
  if (stream != nullptr && stream->exchange) {
    hang_up(*stream);
  }
  const bool ends = stream == nullptr && is_kept;
  if (stream == nullptr) {
    stream = &open(Stream::Kind::get, request, &session);
  } else {
    stream->exchange = request.exchange;
    by_exchange_[request.exchange] = stream->number;
    load(stream->principal).streams += stream->kind == Stream::Kind::post ? 0 : 1;
  }
  send_head(*stream);  // no priming: the client has an id
  std::string missed;
  for (const Kept& event : session.kept) {
    if (event.stream == number && event.number > had.value_or(0)) {
      missed += event.text;
    }
  }
  host_.send(request.exchange.connection, missed);
  if (ends) {
    end_stream(*stream);
  } else if (stream->kind == Stream::Kind::get) {
    session.stream = stream->number;
    notices_due_ = true;
  }
}

void Server::delete_session(const Request& request) {
  if (request.http.header("mcp-session-id").empty()) {
    net::Response response =
        json_response(405, error_text("null", {invalid_request, "there is no session to end"}));
    response.headers.emplace_back("Allow", "POST");
    host_.respond(request.exchange, std::move(response));
    return;
  }
  if (Session* const session = find_session(request)) {
    end_session(*session);
    host_.respond(request.exchange, {.status = 204, .content_type = {}});
  }
}

}  // namespace parley::edge::mcp
