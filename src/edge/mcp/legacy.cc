// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/legacy.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "edge/answers/problem.h"
#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr int not_acceptable = 406;
constexpr int gone = 410;

// Batches of JSON-RPC were part of 2025-03-26, and no older version forbids them.
bool takes_batches(Version version) { return version <= Version::v2025_03_26; }

// The name is a part of the session's id, which is in a header of every request.
constexpr size_t client_name_bytes_max = 128;

// Reads what `initialize` says of the client. A version that is not known is answered with the
// newest one, which the client takes or leaves.
void take_client(McpSession& session, const RpcMessage& message) {
  const auto wanted = find_version(message.text_param("protocolVersion").value_or(""));
  session.version = wanted && *wanted <= newest_legacy ? *wanted : newest_legacy;
  session.client.era = Era::legacy;
  session.client.can = read_capabilities(message.param("capabilities"));
  const Json name = message.param("clientInfo").find("name");
  session.client.name = base::cut(name.as_string().value_or(""), client_name_bytes_max);
}

// The result of `initialize`.
std::string initialize_result(const Catalog& catalog, Version version,
                              std::string_view server_info) {
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

// An id as Transport::event_id makes it: `s7-3` or `7-3`.
struct EventId {
  bool is_own = false;  // of the session's own stream: `of` is the number of the session
  uint64_t of = 0;      // else the number of the stream
  uint64_t number = 0;
};

std::optional<EventId> read_event_id(std::string_view text) {
  const bool is_own = text.starts_with('s');
  text.remove_prefix(is_own ? 1 : 0);
  const size_t dash = std::min(text.find('-'), text.size());
  const auto of = base::parse_number(text.substr(0, dash));
  const auto number = base::parse_number(text.substr(std::min(dash + 1, text.size())));
  return of && number ? std::optional(EventId{is_own, *of, *number}) : std::nullopt;
}

}  // namespace

// What came in one array. Each message has a turn of its own: some read a megabyte.
struct LegacyProtocol::Batch {
  Principal principal;
  uint64_t session = 0;
  uint64_t stream = 0;  // 0: nothing is to be answered
  std::vector<std::string> messages{};
  size_t done = 0;
  uint64_t held = 0;
};

void LegacyProtocol::initialize(const HttpRequest& request, const RpcMessage& message) {
  if (!message.text_param("protocolVersion")) {
    transport_.refuse(request.exchange, 400, {invalid_params, "protocolVersion is missing"},
                      message.id);
    return;
  }
  McpSession begun;
  begun.client.principal = request.principal;
  take_client(begun, message);
  begun.id = state_.sessions.seal(begun, state_.now());
  const McpSession* const session = sessions_.add(std::move(begun));
  if (session == nullptr) {
    transport_.refuse(request.exchange, too_many,
                      {limit_reached,
                       "too many sessions are in use (mcp.sessions_per_principal_max, "
                       "mcp.sessions_max); end some with DELETE"},
                      message.id);
    return;
  }
  net::Response response = json_response(
      200, result_text(message.id,
                       initialize_result(state_.catalog, session->version, state_.server_info())));
  response.headers.emplace_back("Mcp-Session-Id", session->id);
  state_.host.respond(request.exchange, std::move(response));
}

// The messages of a body, one or several. None when they cannot be taken: then that is answered.
std::optional<std::vector<RpcMessage>> LegacyProtocol::read_messages(const HttpRequest& request,
                                                                     const McpSession& session,
                                                                     Json body) {
  const auto refused = [&](const RpcError& error, std::string_view id = "null") {
    transport_.refuse(request.exchange, 400, error, id);
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
    if (bodies.size() > state_.options.limits.batch_max) {
      return refused(
          {limit_reached,
           "a batch has at most " + std::to_string(state_.options.limits.batch_max) + " messages"});
    }
  }
  if (bodies.empty()) {
    return refused({invalid_request, "a batch has at least one message"});
  }
  std::vector<RpcMessage> messages;
  for (const Json each : bodies) {
    const auto message = read_message(each);
    if (!message) {
      return refused(message.error().error, message.error().id);
    }
    messages.push_back(*message);
  }
  return messages;
}

void LegacyProtocol::post(const HttpRequest& request, Json body) {
  // The old transport has its session in the URL.
  const bool has_session = !request.http.header("mcp-session-id").empty() ||
                           request.http.query.find("sessionId=") != std::string_view::npos;
  if (body.is_object() && !has_session) {
    const auto message = read_message(body);
    if (message && message->kind == RpcMessage::Kind::request && message->method == "initialize") {
      initialize(request, *message);
      return;
    }
  }
  McpSession* const session = sessions_.find(request);
  const auto messages = session != nullptr ? read_messages(request, *session, body) : std::nullopt;
  if (!messages) {
    return;
  }
  if (messages->size() > 1 && !state_.may_hold(request.principal, body.raw().size())) {
    transport_.refuse(request.exchange, too_many, {limit_reached, std::string(held_too_much)});
    return;
  }
  const auto requests = static_cast<size_t>(
      std::ranges::count(*messages, RpcMessage::Kind::request, &RpcMessage::kind));
  ResponseStream* stream = nullptr;
  if (session->is_old_transport) {
    stream = state_.streams.find(session->stream);
  } else if (requests > 0) {
    if (!transport_.has_room(request, ResponseStream::Kind::post)) {
      return;
    }
    stream = &transport_.open(ResponseStream::Kind::post, request, session);
    stream->unanswered = requests;
    stream->is_batch = !body.is_object();
  }
  // Nothing is to be answered here, or the answers go to the stream of the old transport.
  if (stream == nullptr || session->is_old_transport) {
    state_.host.respond(request.exchange, {.status = 202, .content_type = {}});
  }
  if (messages->size() > 1) {
    begin_batch(*session, stream, body);
  } else if (stream != nullptr || messages->front().kind != RpcMessage::Kind::request) {
    receive(*session, stream, messages->front());
  }
}

void LegacyProtocol::begin_batch(const McpSession& session, const ResponseStream* stream,
                                 Json body) {
  const auto batch = std::make_shared<Batch>();
  batch->principal = session.client.principal;
  batch->session = session.number;
  batch->stream = stream == nullptr ? 0 : stream->number;
  for (const Json each : body.elements()) {
    batch->messages.emplace_back(each.raw());
  }
  state_.held.add(batch->principal, body.raw().size());
  batch->held = body.raw().size();
  go_on(batch);
}

void LegacyProtocol::go_on(const std::shared_ptr<Batch>& batch) {
  McpSession* const session = state_.sessions.find(batch->session);
  ResponseStream* const stream = state_.streams.find(batch->stream);
  lib::JsonDocument document;
  const auto json = document.parse(batch->messages[batch->done++]);
  const auto message = json ? read_message(*json) : std::unexpected(Unreadable{});
  if (session != nullptr && message &&
      (stream != nullptr || message->kind != RpcMessage::Kind::request)) {
    receive(*session, stream, *message);
  }
  if (session == nullptr || batch->done == batch->messages.size()) {
    state_.held.remove(batch->principal, batch->held);
    return;
  }
  state_.host.later(batch->principal, [this, batch] { go_on(batch); });
}

// A message of a session. `stream` is there for a request, and may be gone for what comes after
// the last of them.
void LegacyProtocol::receive(McpSession& session, ResponseStream* stream,
                             const RpcMessage& message) {
  switch (message.kind) {
    case RpcMessage::Kind::response:
      calls_.take_response(session, message);
      break;
    case RpcMessage::Kind::notification:
      receive_notification(session, message);
      break;
    case RpcMessage::Kind::request:
      receive_request(session, *stream, message);
      break;
  }
}

// Of all notifications only a cancellation does something.
void LegacyProtocol::receive_notification(const McpSession& session, const RpcMessage& message) {
  const Json id = message.param("requestId");
  if (message.method == "notifications/cancelled" && id) {
    if (const auto at = session.calls.find(id.raw()); at != session.calls.end()) {
      calls_.cancel(at->second);
    }
  }
}

void LegacyProtocol::receive_request(McpSession& session, ResponseStream& stream,
                                     const RpcMessage& message) {
  if (session.calls.contains(message.id)) {
    // With two calls of one id neither could be cancelled, nor could the client tell their answers
    // apart.
    transport_.answer(stream, error_text(message.id, {invalid_request,
                                                      "a request with this id is not answered "
                                                      "yet"}));
  } else if (message.method == "ping") {
    transport_.answer(stream, result_text(message.id, ""));
  } else if (message.method == "logging/setLevel") {
    set_level(session, stream, message);
  } else if (message.method == "resources/subscribe" || message.method == "resources/unsubscribe") {
    subscribe(session, stream, message);
  } else if (message.method != "initialize") {
    dispatch(session, stream, message);
  } else if (session.is_old_transport) {
    // The old transport has a session from its GET on; `initialize` says who the client is.
    take_client(session, message);
    transport_.answer(stream,
                      result_text(message.id, initialize_result(state_.catalog, session.version,
                                                                state_.server_info())));
  } else {
    transport_.answer(stream,
                      error_text(message.id, {invalid_request, "the session has begun already"}));
  }
}

void LegacyProtocol::set_level(McpSession& session, ResponseStream& stream,
                               const RpcMessage& message) {
  const auto level = find_level(message.text_param("level").value_or(""));
  session.level = level.value_or(session.level);
  sessions_.save(session);
  transport_.answer(stream, level ? result_text(message.id, "")
                                  : error_text(message.id, {invalid_params,
                                                            "level is debug, info, notice, "
                                                            "warning, error, critical, "
                                                            "alert or emergency"}));
}

void LegacyProtocol::dispatch(const McpSession& session, ResponseStream& stream,
                              const RpcMessage& message) {
  Client client = session.client;
  const auto text = [&](std::string_view key) {
    return std::string(message.meta(key).as_string().value_or(""));
  };
  client.traceparent = text("traceparent");
  client.tracestate = text("tracestate");
  methods_.dispatch(stream, message, client, session.version);
}

void LegacyProtocol::subscribe(McpSession& session, ResponseStream& stream,
                               const RpcMessage& message) {
  const auto uri = message.text_param("uri");
  const auto found = uri ? state_.catalog.resource(*uri) : std::nullopt;
  const auto refused = [&](const RpcError& error) {
    transport_.answer(stream, error_text(message.id, error));
  };
  if (message.method == "resources/unsubscribe") {
    state_.subscriptions.remove(session.number, uri.value_or(""));
  } else if (!found || !found->resource->subscribable) {
    return refused({invalid_params, "there is no such resource to subscribe to"});
  } else if (uri->size() > state_.options.limits.uri_bytes_max) {
    return refused(
        {invalid_params,
         "uri has at most " + std::to_string(state_.options.limits.uri_bytes_max) + " bytes"});
  } else if (!state_.subscriptions.has(session.number, *uri) &&
             state_.subscriptions.count(session.number) >=
                 state_.options.limits.subscriptions_max) {
    return refused({limit_reached, "too many subscriptions (mcp.subscriptions_max)"});
  } else if (!state_.subscriptions.add(session.number, session.client.principal, found->uri,
                                       *uri)) {
    return refused({limit_reached, "this resource is subscribed to in two spellings already"});
  }
  sessions_.save(session);
  transport_.answer(stream, result_text(message.id, ""));
}

void LegacyProtocol::get(const HttpRequest& request) {
  const bool has_id = !request.http.header("mcp-session-id").empty();
  const std::string_view header = request.http.header("mcp-protocol-version");
  if (!has_id && takes_events(request.http) &&
      (header.empty() || header == name_of(Version::v2024_11_05))) {
    open_old_transport(request);
    return;
  }
  if (!has_id) {
    refuse_method(request, "without a session of 2025-11-25 or older only POST is taken");
    return;
  }
  McpSession* const session = sessions_.find(request);
  if (session == nullptr) {
    return;
  }
  if (!takes_events(request.http)) {
    transport_.refuse(request.exchange, not_acceptable,
                      {invalid_request, "send `Accept: text/event-stream`"});
    return;
  }
  const std::string_view last_event = request.http.header("last-event-id");
  if (!last_event.empty()) {
    resume(request, *session, last_event);
  } else if (ResponseStream* const stream = open_own(request, *session)) {
    transport_.begin_events(*stream);
  }
}

// The session's own stream. A message goes to one stream only, so the newest takes the place of
// the one before. None: there is no room, and that is answered.
ResponseStream* LegacyProtocol::open_own(const HttpRequest& request, McpSession& session) {
  if (ResponseStream* const before = state_.streams.find(session.stream)) {
    transport_.end(*before, session_gone);
  } else if (!transport_.has_room(request, ResponseStream::Kind::get)) {
    return nullptr;
  }
  ResponseStream& stream = transport_.open(ResponseStream::Kind::get, request, &session);
  session.stream = stream.number;
  state_.notices_due = true;
  return &stream;
}

// HTTP+SSE of 2024-11-05: this stream says where to send requests, and has all the answers.
void LegacyProtocol::open_old_transport(const HttpRequest& request) {
  if (!transport_.has_room(request, ResponseStream::Kind::get)) {
    return;
  }
  McpSession begun;
  begun.client.principal = request.principal;
  begun.is_old_transport = true;
  begun.version = Version::v2024_11_05;
  begun.id = base::format_uuid(lib::random_uuid());
  McpSession* const session = sessions_.add(std::move(begun));
  if (session == nullptr) {
    transport_.refuse(request.exchange, too_many, {limit_reached, "too many sessions are in use"});
    return;
  }
  transport_.begin_events(*open_own(request, *session));
  state_.host.send(request.exchange.connection,
                   "event: endpoint\ndata: " + std::string(request.http.path) +
                       "?sessionId=" + session->id + "\n\n");
}

// The client comes back for what it missed of a stream, by the id of the last event it got.
void LegacyProtocol::resume(const HttpRequest& request, McpSession& session,
                            std::string_view last_event) {
  const EventId had = read_event_id(last_event).value_or(EventId{});
  ResponseStream* stream = had.is_own ? nullptr : state_.streams.find(had.of);
  if (stream != nullptr &&
      (stream->session != session.number || stream->kind != ResponseStream::Kind::post)) {
    stream = nullptr;
  }
  // Another number of a session: the client has an event of before the session left memory. Those
  // events are gone, and all that are kept came later.
  const bool is_of_before = had.is_own && had.of != session.number;
  Outgoing missed;
  bool is_kept = false;
  for (const KeptEvent& event : session.kept) {
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
    transport_.resume_events(*stream);  // no priming: the client has an id
  } else if (stream != nullptr) {
    if (stream->exchange) {
      transport_.hang_up(*stream);
    }
    state_.streams.attach(*stream, request.exchange);
    transport_.resume_events(*stream);
  } else if (had.of != 0 && is_kept) {
    transport_.start_events(request.exchange);
  } else {
    // The call is over and its events are gone. A stream for them would stay empty for ever.
    transport_.refuse(
        request.exchange, gone,
        {invalid_request, "there is nothing behind this Last-Event-ID: the call is over"});
    return;
  }
  state_.host.send(request.exchange.connection, missed.text, std::move(missed.reports));
  if (stream == nullptr) {
    state_.host.close(request.exchange.connection);
  }
}

void LegacyProtocol::delete_session(const HttpRequest& request) {
  if (request.http.header("mcp-session-id").empty()) {
    refuse_method(request, "there is no session to end");
    return;
  }
  if (McpSession* const session = sessions_.find(request)) {
    sessions_.end(*session);
    state_.host.respond(request.exchange, {.status = 204, .content_type = {}});
  }
}

void LegacyProtocol::refuse_method(const HttpRequest& request, std::string_view why) {
  net::Response response =
      json_response(405, error_text("null", {invalid_request, std::string(why)}));
  response.headers.emplace_back("Allow", "POST");
  state_.host.respond(request.exchange, std::move(response));
}

}  // namespace parley::edge::mcp
