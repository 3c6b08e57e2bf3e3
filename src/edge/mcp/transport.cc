// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/transport.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "edge/answers/problem.h"
#include "edge/events.h"

namespace parley::edge::mcp {

bool takes_events(const net::Request& http) {
  return http.header("accept").find("text/event-stream") != std::string_view::npos;
}

void Transport::refuse(const net::Exchange& exchange, int status, const RpcError& error,
                       std::string_view id) {
  state_.host.respond(exchange, json_response(status, error_text(id, error)));
}

bool Transport::has_room(const HttpRequest& request, ResponseStream::Kind kind,
                         std::string_view id) {
  const Limits& limits = state_.options.limits;
  const uint64_t listening =
      kind == ResponseStream::Kind::post ? 0 : state_.streams.listening(request.principal);
  if (listening >= limits.streams_per_principal_max) {
    refuse(request.exchange, too_many,
           {limit_reached, "too many streams are open (mcp.streams_per_principal_max): close some"},
           id);
    return false;
  }
  if (state_.streams.size() >= limits.streams_max) {
    refuse(request.exchange, too_many,
           {limit_reached,
            "too many requests and streams of all are open (mcp.streams_max): try again later"},
           id);
    return false;
  }
  return true;
}

ResponseStream& Transport::open(ResponseStream::Kind kind, const HttpRequest& request,
                                McpSession* session) {
  ResponseStream& stream = state_.streams.add({.number = state_.next_number(),
                                               .kind = kind,
                                               .exchange = request.exchange,
                                               .session = session == nullptr ? 0 : session->number,
                                               .principal = request.principal,
                                               .takes_events = takes_events(request.http),
                                               .last_sent = state_.now()});
  if (session != nullptr) {
    session->streams.insert(stream.number);
  }
  return stream;
}

void Transport::answer(ResponseStream& stream, Outgoing answer, int status) {
  if (stream.kind == ResponseStream::Kind::get) {
    // The stream of the old transport has the answers to all requests, and stays.
    if (!answer.text.empty()) {
      send_event(stream, answer);
    }
    return;
  }
  --stream.unanswered;
  if (stream.is_batch && !stream.is_events &&
      !state_.may_hold(stream.principal, answer.text.size())) {
    begin_events(stream);  // a client that takes events gets these answers one by one
    if (!stream.is_events) {
      give_up(stream);
      return;
    }
  }
  if (stream.is_events) {
    if (!answer.text.empty()) {
      send_event(stream, answer);
    }
    if (stream.unanswered == 0) {
      end(stream, session_gone);
    }
    return;
  }
  if (stream.is_batch) {
    if (!answer.text.empty()) {
      stream.answers_bytes += answer.text.size();
      state_.held.add(stream.principal, answer.text.size());
      stream.answers.push_back(std::move(answer));
    }
    if (stream.unanswered > 0) {
      return;
    }
    answer = {};
    for (Outgoing& each : stream.answers) {
      answer.text.append(answer.text.empty() ? "[" : ",").append(each.text);
      std::ranges::move(each.reports, std::back_inserter(answer.reports));
    }
    answer.text.append(answer.text.empty() ? "" : "]");
    status = answer.text.empty() ? 202 : 200;
  }
  const auto done = retire(stream);
  if (done->exchange) {
    net::Response response = json_response(status, std::move(answer.text));
    response.reports = std::move(answer.reports);
    if (response.body.empty()) {
      response.content_type.clear();
    }
    state_.host.respond(*done->exchange, std::move(response));
  }
}

// The answers of a batch are too large to be kept until the last one is there.
void Transport::give_up(ResponseStream& stream) {
  const auto ended = retire(stream);
  if (ended->exchange) {
    refuse(*ended->exchange, too_many, {limit_reached, std::string(held_too_much)});
  }
}

void Transport::start_events(const net::Exchange& exchange) {
  net::Response head;
  head.content_type = "text/event-stream";
  head.headers.emplace_back("Cache-Control", "no-store");
  head.headers.emplace_back("X-Accel-Buffering", "no");  // a proxy would hold events back
  // The connection ends with the stream. A client that did not know would send its next request on
  // the connection, and lose that request.
  head.headers.emplace_back("Connection", "close");
  state_.host.start_stream(exchange, head);
}

void Transport::resume_events(ResponseStream& stream) {
  start_events(*stream.exchange);
  stream.is_events = true;
  stream.last_sent = state_.now();
}

// The id of the newest event. An event of the session's own stream is named by the session,
// whichever connection had it; an event of a call by its stream. The numbers of both are never used
// again, not by a later process either.
std::string Transport::event_id(const ResponseStream& stream, const McpSession& session) {
  const bool is_own = stream.kind == ResponseStream::Kind::get;
  return (is_own ? "s" + std::to_string(session.number) : std::to_string(stream.number)) + "-" +
         std::to_string(is_own ? session.last_event : stream.last_event);
}

void Transport::begin_events(ResponseStream& stream) {
  if (stream.is_events || !stream.takes_events || !stream.exchange) {
    return;
  }
  resume_events(stream);
  const McpSession* const session = session_of(stream);
  if (session != nullptr && session->version >= Version::v2025_11_25) {
    // An empty event with an id: with it a client can come back before there is a first message.
    std::string priming = "id: " + event_id(stream, *session) + "\n";
    append_event_data(priming, "");
    state_.host.send(stream.exchange->connection, priming);
  }
  state_.held.remove(stream.principal, std::exchange(stream.answers_bytes, 0));
  for (const Outgoing& each : std::exchange(stream.answers, {})) {
    send_event(stream, each);
  }
}

bool Transport::send(ResponseStream& stream, std::string_view text) {
  begin_events(stream);
  if (!stream.is_events ||
      (stream.exchange && !state_.host.has_room(stream.exchange->connection))) {
    return false;
  }
  send_event(stream, std::string(text));
  return true;
}

void Transport::send_event(ResponseStream& stream, const Outgoing& answer) {
  std::string event;
  McpSession* const session = session_of(stream);
  const bool is_kept = session != nullptr && !session->is_old_transport;
  const bool is_own = stream.kind == ResponseStream::Kind::get;
  uint64_t& last_event = is_kept && is_own ? session->last_event : stream.last_event;
  ++last_event;
  if (is_kept) {
    event = "id: " + event_id(stream, *session) + "\n";
  }
  event += "event: message\n";
  append_event_data(event, answer.text);
  if (stream.exchange) {
    state_.host.send(stream.exchange->connection, event, answer.reports);
    stream.last_sent = state_.now();
  }
  if (!is_kept) {
    return;
  }
  keep_event(*session, {is_own ? 0 : stream.number, last_event, std::move(event), answer.reports});
}

// A client that comes back asks for what it missed, so the newest events of a session are kept. One
// that is larger than the limit is kept alone, where its principal's sessions keep little besides.
void Transport::keep_event(McpSession& session, KeptEvent event) const {
  const Limits& limits = state_.options.limits;
  if (event.text.size() > limits.kept_bytes_max &&
      state_.sessions.kept_bytes_of(session.client.principal) + event.text.size() >
          limits.kept_bytes_of_principal_max) {
    return;
  }
  session.kept_bytes += event.text.size();
  session.kept.push_back(std::move(event));
  while (session.kept.size() > limits.kept_events_max ||
         (session.kept_bytes > limits.kept_bytes_max && session.kept.size() > 1)) {
    session.kept_bytes -= session.kept.front().text.size();
    session.kept.pop_front();
  }
}

void Transport::hang_up(ResponseStream& stream) {
  const net::ConnectionId connection = stream.exchange->connection;
  state_.streams.detach(stream);
  stream.last_sent = state_.now();
  state_.host.close(connection);
}

std::unique_ptr<ResponseStream> Transport::retire(ResponseStream& stream) {
  // First of all: what is cancelled below must not answer on this stream again.
  std::unique_ptr<ResponseStream> retired = state_.streams.take(stream);
  if (McpSession* const session = session_of(*retired)) {
    session->streams.erase(retired->number);
    session->stream = session->stream == retired->number ? 0 : session->stream;
  }
  state_.subscriptions.forget(retired->number);
  state_.held.remove(retired->principal, std::exchange(retired->answers_bytes, 0));
  for (const uint64_t call : std::exchange(retired->calls, {})) {
    cancel_(call);
  }
  return retired;
}

void Transport::end(ResponseStream& stream, int status) {
  const auto ended = retire(stream);
  if (!ended->exchange) {
    return;
  }
  if (!ended->is_events) {
    state_.host.respond(*ended->exchange, {.status = status, .content_type = {}});
    return;
  }
  if (ended->kind == ResponseStream::Kind::listen) {
    send_event(*ended, result_text(ended->id, R"("resultType":"complete","_meta":{)"
                                              R"("io.modelcontextprotocol/subscriptionId":)" +
                                                  ended->id + "}"));
  }
  state_.host.close(ended->exchange->connection);
}

}  // namespace parley::edge::mcp
