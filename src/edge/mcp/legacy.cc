// SPDX-License-Identifier: Apache-2.0
// 2025-11-25 and older: a client begins a session, and the server may ask it back.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "edge/api/call.h"
#include "edge/mcp/server.h"
#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr int not_acceptable = 406;
constexpr int gone = 410;

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
  const bool is_old_transport = id.empty();
  if (is_old_transport) {
    id = query_value(request.http.query, "sessionId").value_or("");
  }
  Session* session = sessions_.find(id);
  if (session == nullptr && !is_old_transport) {
    session = revive(id, request.principal);
  }
  // Another's session is none: whoever has its id still needs the token. Nor is one of the other
  // transport.
  if (session == nullptr || session->is_old_transport != is_old_transport ||
      session->client.principal.workspace != request.principal.workspace ||
      session->client.principal.name != request.principal.name) {
    refuse(request.exchange, id.empty() ? 400 : session_gone, no_session(!id.empty()));
    return nullptr;
  }
  if (session->client.principal.ref != request.principal.ref ||
      !host_.is_current(session->client.principal)) {
    // Its token was replaced, or its agent was removed and is there anew: what the former holder
    // began here ends. Messages and tasks are the name's, and stay.
    end_session(*session, Ending::may_return);
    session = revive(id, request.principal);
    if (session == nullptr) {
      refuse(request.exchange, session_gone, no_session(true));
      return nullptr;
    }
  }
  session->used = now();
  session->client.principal = request.principal;
  return session;
}

// A session that is not in memory, as it was when it left.
Session* Server::revive(std::string_view id, const Principal& principal) {
  const Note* const note = options_.notes->find(id);
  auto known =
      note != nullptr && note->is_ended ? std::nullopt : sessions_.unseal(id, principal, now());
  Session* const session = known ? add_session(std::move(*known)) : nullptr;
  if (session == nullptr || note == nullptr) {
    return session;
  }
  session->level = find_level(note->level).value_or(session->level);
  for (const std::string& uri : note->uris) {
    const auto found = catalog_.resource(uri);
    if (found && found->resource->subscribable) {
      subscriptions_.add(session->number, principal, found->uri, uri);
      // Meanwhile it may have changed, and nobody looked.
      subscriptions_.note(session->number, {Notice::Kind::updated, uri});
      notices_due_ = true;
    }
  }
  return session;
}

// What must be known of the session when it is not in memory.
void Server::keep_note(const Session& session, bool is_ended) {
  if (session.is_old_transport) {
    return;  // which ends with its connection
  }
  Note note{.is_ended = is_ended};
  if (!is_ended) {
    note.level = session.level == Session{}.level ? "" : name_of(session.level);
    note.uris = subscriptions_.of(session.number);
  }
  options_.notes->keep(session.id, session.client.principal, std::move(note), now());
}

// None when there is no room for it.
Session* Server::add_session(Session begun) {
  const Sessions::Room room = sessions_.room_for(begun.client.principal);
  if (!room.is_there) {
    return nullptr;
  }
  if (room.leaves != nullptr) {
    end_session(*room.leaves, Ending::may_return);
  }
  begun.number = ++last_number_;
  begun.used = now();
  return &sessions_.add(std::move(begun));
}

void Server::end_session(Session& session, Ending ending) {
  if (ending == Ending::for_good) {
    keep_note(session, true);
  }
  const std::set<uint64_t> streams = session.streams;
  for (const uint64_t number : streams) {
    if (Stream* const stream = streams_.find(number)) {
      end_stream(*stream, session_gone);
    }
  }
  subscriptions_.forget(session.number);
  sessions_.erase(session);
}

namespace {

constexpr size_t client_name_bytes_max = 128;

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
  begun.id = sessions_.seal(begun, now());
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
  if (bodies.empty()) {
    return refused({invalid_request, "a batch has at least one message"});
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
    stream = streams_.find(session->stream);
  } else if (requests > 0) {
    if (!has_room(request, Stream::Kind::post)) {
      return;
    }
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
      const auto at = session.runs.find(id.raw());
      if (Running* const run = at != session.runs.end() ? find_run(at->second) : nullptr) {
        cancel(*run);
      }
    }
    return;
  }
  if (session.runs.contains(message.id)) {
    // Else neither of the two could be cancelled, nor could the client tell their answers apart.
    answer(*stream,
           error_text(message.id, {invalid_request, "a request with this id is not answered yet"}));
  } else if (message.method == "ping") {
    answer(*stream, result_text(message.id, ""));
  } else if (message.method == "logging/setLevel") {
    const auto level = find_level(message.text_param("level").value_or(""));
    session.level = level.value_or(session.level);
    keep_note(session);
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
  const auto refused = [&](const Fault& fault) { answer(stream, error_text(message.id, fault)); };
  if (message.method == "resources/unsubscribe") {
    subscriptions_.remove(session.number, uri.value_or(""));
  } else if (!found || !found->resource->subscribable) {
    return refused({invalid_params, "there is no such resource to subscribe to"});
  } else if (uri->size() > options_.limits.uri_bytes_max) {
    return refused({invalid_params,
                    "uri has at most " + std::to_string(options_.limits.uri_bytes_max) + " bytes"});
  } else if (!subscriptions_.has(session.number, *uri) &&
             subscriptions_.count(session.number) >= options_.limits.subscriptions_max) {
    return refused({limit_reached, "too many subscriptions (mcp.subscriptions_max)"});
  } else {
    subscriptions_.add(session.number, session.client.principal, found->uri, *uri);
  }
  keep_note(session);
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
  const std::string_view last_event = request.http.header("last-event-id");
  if (!last_event.empty()) {
    resume(request, *session, last_event);
  } else if (Stream* const stream = open_own(request, *session)) {
    begin_events(*stream);
  }
}

// The session's own stream. A message goes to one stream only, so the newest takes the place of
// the one before. None: there is no room, and the client was told.
Stream* Server::open_own(const Request& request, Session& session) {
  if (Stream* const before = streams_.find(session.stream)) {
    end_stream(*before, session_gone);
  } else if (!has_room(request, Stream::Kind::get)) {
    return nullptr;
  }
  Stream& stream = open(Stream::Kind::get, request, &session);
  session.stream = stream.number;
  notices_due_ = true;
  return &stream;
}

// HTTP+SSE of 2024-11-05: this stream says where to send requests, and has all the answers.
void Server::open_old_transport(const Request& request) {
  if (!has_room(request, Stream::Kind::get)) {
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
  begin_events(*open_own(request, *session));
  host_.send(request.exchange.connection,
             "event: endpoint\ndata: " + std::string(request.http.path) +
                 "?sessionId=" + session->id + "\n\n");
}

namespace {

// An id that event_id made.
struct EventId {
  bool is_own = false;  // of the session's own stream: the number is the session's
  uint64_t of = 0;
  uint64_t number = 0;
};

std::optional<EventId> read_event_id(std::string_view text) {
  const bool is_own = text.starts_with('s');
  text.remove_prefix(is_own ? 1 : 0);
  const size_t dash = std::min(text.find('-'), text.size());
  const auto of = parse_number(text.substr(0, dash));
  const auto number = parse_number(text.substr(std::min(dash + 1, text.size())));
  return of && number ? std::optional(EventId{is_own, *of, *number}) : std::nullopt;
}

}  // namespace

// The client comes back for what it missed of a stream, by the id of the last event it got.
void Server::resume(const Request& request, Session& session, std::string_view last_event) {
  const EventId had = read_event_id(last_event).value_or(EventId{});
  Stream* stream = had.is_own ? nullptr : streams_.find(had.of);
  if (stream != nullptr &&
      (stream->session != session.number || stream->kind != Stream::Kind::post)) {
    stream = nullptr;
  }
  // What the session told before it left memory is gone, and what is kept came after that.
  const bool is_of_before = had.is_own && had.of != session.number;
  Outgoing missed;
  bool is_kept = false;
  for (const Kept& event : session.kept) {
    if (event.stream == (had.is_own ? 0 : had.of)) {
      is_kept = true;
      if (is_of_before || event.number > had.number) {
        missed.text += event.text;
        std::ranges::copy(event.reports, std::back_inserter(missed.reports));
      }
    }
  }
  if (had.is_own) {
    stream = open_own(request, session);
    if (stream == nullptr) {
      return;
    }
    send_head(*stream);  // no priming: the client has an id
  } else if (stream != nullptr) {
    if (stream->exchange) {
      hang_up(*stream);
    }
    streams_.attach(*stream, request.exchange);
    send_head(*stream);
  } else if (had.of != 0 && is_kept) {
    start_events(request.exchange);
  } else {
    // No stream would ever bring it. A client that got one would wait, and have two of its own.
    refuse(request.exchange, gone,
           {invalid_request, "there is nothing behind this Last-Event-ID: the call is over"});
    return;
  }
  host_.send(request.exchange.connection, missed.text, std::move(missed.reports));
  if (stream == nullptr) {
    host_.close(request.exchange.connection);
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
    end_session(*session, Ending::for_good);
    host_.respond(request.exchange, {.status = 204, .content_type = {}});
  }
}

}  // namespace parley::edge::mcp
