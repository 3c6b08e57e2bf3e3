// SPDX-License-Identifier: Apache-2.0
// Answers over HTTP: whole, or as a stream of events that a client of a session may come back to.
#include <algorithm>
#include <iterator>
#include <utility>

#include "edge/api/call.h"
#include "edge/events.h"
#include "edge/mcp/server.h"
#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::JsonWriter;

constexpr base::Duration sweep_interval = base::seconds(1);
constexpr int unauthorized = 401;

std::string_view method_of(Notice::Kind kind) {
  switch (kind) {
    case Notice::Kind::tools:
      return "notifications/tools/list_changed";
    case Notice::Kind::prompts:
      return "notifications/prompts/list_changed";
    case Notice::Kind::resources:
      return "notifications/resources/list_changed";
    case Notice::Kind::updated:
      break;
  }
  return "notifications/resources/updated";
}

}  // namespace

bool takes_events(const net::Request& http) {
  return http.header("accept").find("text/event-stream") != std::string_view::npos;
}

// Whether there is room for one stream more. Else the client was told.
bool Server::has_room(const Request& request, Stream::Kind kind, std::string_view id) {
  const Limits& limits = options_.limits;
  const uint64_t mine = kind == Stream::Kind::post ? 0 : streams_.listening(request.principal);
  if (mine >= limits.streams_per_principal_max) {
    refuse(request.exchange, too_many,
           {limit_reached, "too many streams are open (mcp.streams_per_principal_max): close some"},
           id);
    return false;
  }
  if (streams_.size() >= limits.streams_max) {
    refuse(request.exchange, too_many,
           {limit_reached,
            "too many requests and streams of all are open (mcp.streams_max): try again later"},
           id);
    return false;
  }
  return true;
}

Stream& Server::open(Stream::Kind kind, const Request& request, Session* session) {
  Stream& stream = streams_.add({.number = ++last_number_,
                                 .kind = kind,
                                 .exchange = request.exchange,
                                 .session = session == nullptr ? 0 : session->number,
                                 .principal = request.principal,
                                 .takes_events = takes_events(request.http),
                                 .told = now()});
  if (session != nullptr) {
    session->streams.insert(stream.number);
  }
  return stream;
}

// One of the requests on the stream has its answer; an empty one was cancelled and gets none.
void Server::answer(Stream& stream, Outgoing answer, int status) {
  if (stream.kind == Stream::Kind::get) {  // the old transport's, which stays
    if (!answer.text.empty()) {
      send_event(stream, answer);
    }
    return;
  }
  --stream.unanswered;
  if (stream.is_events) {
    if (!answer.text.empty()) {
      send_event(stream, answer);
    }
    if (stream.unanswered == 0) {
      end_stream(stream, session_gone);
    }
    return;
  }
  if (stream.is_batch) {
    if (!answer.text.empty()) {
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
    host_.respond(*done->exchange, std::move(response));
  }
}

void Server::start_events(const net::Exchange& exchange) {
  net::Response head;
  head.content_type = "text/event-stream";
  head.headers.emplace_back("Cache-Control", "no-store");
  head.headers.emplace_back("X-Accel-Buffering", "no");  // for proxies
  // The connection ends with the stream; a client that did not know would send its next request
  // on it, and lose that.
  head.headers.emplace_back("Connection", "close");
  host_.start_stream(exchange, head);
}

void Server::send_head(Stream& stream) {
  start_events(*stream.exchange);
  stream.is_events = true;
  stream.told = now();
}

// Of the session's own stream an event is known by the session, whichever connection had it; of a
// call by its stream. Numbers of both are never used again, also by another process.
std::string Server::event_id(const Stream& stream, const Session& session) {
  const bool is_own = stream.kind == Stream::Kind::get;
  return (is_own ? "s" + std::to_string(session.number) : std::to_string(stream.number)) + "-" +
         std::to_string(is_own ? session.last_event : stream.last_event);
}

// From now on the answer is a stream of events, if the client takes one.
void Server::begin_events(Stream& stream) {
  if (stream.is_events || !stream.takes_events || !stream.exchange) {
    return;
  }
  send_head(stream);
  const Session* const session = session_of(stream);
  if (session != nullptr && session->version >= Version::v2025_11_25) {
    // With the id of an event that says nothing a client can come back before there is a first.
    std::string priming = "id: " + event_id(stream, *session) + "\n";
    append_event_data(priming, "");
    host_.send(stream.exchange->connection, priming);
  }
  for (const Outgoing& each : std::exchange(stream.answers, {})) {
    send_event(stream, each);
  }
}

// A message before the answer, or on a stream of its own. False when it could not be told.
bool Server::tell(Stream& stream, std::string_view text) {
  begin_events(stream);
  if (!stream.is_events || (stream.exchange && !host_.has_room(stream.exchange->connection))) {
    return false;
  }
  send_event(stream, std::string(text));
  return true;
}

void Server::send_event(Stream& stream, const Outgoing& answer) {
  std::string event;
  Session* const session = session_of(stream);
  const bool is_kept = session != nullptr && !session->is_old_transport;
  const bool is_own = stream.kind == Stream::Kind::get;
  uint64_t& last_event = is_kept && is_own ? session->last_event : stream.last_event;
  ++last_event;
  if (is_kept) {
    event = "id: " + event_id(stream, *session) + "\n";
  }
  event += "event: message\n";
  append_event_data(event, answer.text);
  if (stream.exchange) {
    host_.send(stream.exchange->connection, event, answer.reports);
    stream.told = now();
  }
  if (!is_kept) {
    return;
  }
  session->kept_bytes += event.size();
  session->kept.push_back(
      {is_own ? 0 : stream.number, last_event, std::move(event), answer.reports});
  while (session->kept.size() > options_.limits.kept_events_max ||
         (session->kept_bytes > options_.limits.kept_bytes_max && session->kept.size() > 1)) {
    session->kept_bytes -= session->kept.front().text.size();
    session->kept.pop_front();
  }
}

// The connection closes; the stream goes on, for a client that comes back.
void Server::hang_up(Stream& stream) {
  const net::ConnectionId connection = stream.exchange->connection;
  streams_.detach(stream);
  stream.told = now();
  host_.close(connection);
}

// The one way in which a stream goes: nothing finds it any more, and what was to be told on it is
// over. Says nothing to the client.
std::unique_ptr<Stream> Server::retire(Stream& stream) {
  std::unique_ptr<Stream> retired = streams_.take(stream);
  if (Session* const session = session_of(*retired)) {
    session->streams.erase(retired->number);
    session->stream = session->stream == retired->number ? 0 : session->stream;
  }
  subscriptions_.forget(retired->number);
  for (const uint64_t each : std::exchange(retired->runs, {})) {
    if (Running* const run = find_run(each)) {
      cancel(*run);
    }
  }
  return retired;
}

// `status` is for a client that has got nothing yet.
void Server::end_stream(Stream& stream, int status) {
  const auto ended = retire(stream);
  if (!ended->exchange) {
    return;
  }
  if (!ended->is_events) {
    host_.respond(*ended->exchange, {.status = status, .content_type = {}});
    return;
  }
  if (ended->kind == Stream::Kind::listen) {
    send_event(*ended, result_text(ended->id, R"("resultType":"complete","_meta":{)"
                                              R"("io.modelcontextprotocol/subscriptionId":)" +
                                                  ended->id + "}"));
  }
  host_.close(ended->exchange->connection);
}

void Server::on_closed(net::ConnectionId connection) {
  while (Stream* const stream = streams_.find_on(connection)) {
    streams_.detach(*stream);
    client_left(*stream);
  }
}

// Hanging up cancels, in the modern era. In the legacy one the calls go on if the client can come
// back for their answers: it can where it got the id of an event.
void Server::client_left(Stream& stream) {
  Session* const session = session_of(stream);
  if (session != nullptr && session->is_old_transport) {
    end_session(*session, Ending::for_good);
    return;
  }
  const bool got_id = session != nullptr && stream.is_events &&
                      (session->version >= Version::v2025_11_25 || stream.last_event > 0);
  if (stream.kind == Stream::Kind::post && got_id) {
    stream.told = now();
  } else {
    retire(stream);
  }
}

void Server::on_drained(net::ConnectionId) { notices_due_ = true; }

void Server::updated(core::WorkspaceId workspace, std::string_view agent, std::string_view uri) {
  notices_due_ = subscriptions_.updated(workspace, agent, uri) || notices_due_;
}

void Server::list_changed(Notice::Kind list) {
  notices_due_ = true;
  for (const auto& [id, session] : sessions_.all()) {
    subscriptions_.note(session->number, {list});
  }
  for (const auto& [number, stream] : streams_.all()) {
    if (stream->lists.contains(list)) {
      subscriptions_.note(number, {list});
    }
  }
}

// False when there is no stream for it now, or no room on it.
bool Server::notify(uint64_t subscriber, const Notice& notice) {
  const Session* const session = sessions_.find(subscriber);
  Stream* const stream = streams_.find(session == nullptr ? subscriber : session->stream);
  if (stream == nullptr || !stream->exchange) {
    return false;
  }
  std::string params;
  JsonWriter out(params);
  out.object();
  if (stream->kind == Stream::Kind::listen) {
    out.key("_meta").object().key("io.modelcontextprotocol/subscriptionId");
    out.raw(stream->id).end_object();
  }
  if (notice.kind == Notice::Kind::updated) {
    out.key("uri").text(notice.uri);
  }
  out.end_object();
  return tell(*stream, notification_text(method_of(notice.kind), params));
}

base::Time Server::on_turn(base::Time now) {
  waits_.run(now);
  if (std::exchange(notices_due_, false)) {
    subscriptions_.flush(
        [this](uint64_t subscriber, const Notice& notice) { return notify(subscriber, notice); });
  }
  const bool is_idle = streams_.size() == 0 && sessions_.size() == 0;
  if (!is_idle && now >= next_sweep_) {
    sweep_streams(now);
    sweep_sessions(now);
    sweep_questions(now);
    next_sweep_ = now + sweep_interval;
  }
  return is_idle ? waits_.next() : std::min(waits_.next(), next_sweep_);
}

// Ends those that nobody comes back for or whose token is gone, and keeps up those that are silent.
void Server::sweep_streams(base::Time now) {
  const Limits& limits = options_.limits;
  std::vector<std::pair<uint64_t, int>> over;  // and the status
  for (const auto& [number, stream] : streams_.all()) {
    if (!host_.is_current(stream->principal)) {
      over.emplace_back(number, unauthorized);
    } else if (!stream->exchange && stream->told + limits.resume_within < now) {
      over.emplace_back(number, session_gone);
    } else if (stream->exchange && stream->is_events && stream->told + limits.keep_alive <= now) {
      host_.send(stream->exchange->connection, ":\n\n");
      stream->told = now;
      host_.note_call(stream->principal);
    }
  }
  for (const auto& [number, status] : over) {
    if (Stream* const stream = streams_.find(number)) {
      end_stream(*stream, status);
    }
  }
}

// Sessions that nobody uses leave memory, and come back when they are used again.
void Server::sweep_sessions(base::Time now) {
  std::vector<Session*> idle;
  for (const auto& [id, session] : sessions_.all()) {
    if (session->stream == 0 && session->runs.empty() &&
        session->used + options_.limits.session_idle < now) {
      idle.push_back(session.get());
    }
  }
  for (Session* const session : idle) {
    end_session(*session, Ending::may_return);
  }
}

// Calls whose client was asked, and does not answer.
void Server::sweep_questions(base::Time now) {
  std::vector<uint64_t> unanswered;
  for (const auto& [number, run] : runs_) {
    if (run->questions > 0 && run->asked_at + options_.limits.state_ttl < now) {
      unanswered.push_back(number);
    }
  }
  for (const uint64_t number : unanswered) {
    if (Running* const run = find_run(number)) {
      refuse_ask(*run, "the client did not answer in time", "{}");
    }
  }
}

}  // namespace parley::edge::mcp
