// SPDX-License-Identifier: Apache-2.0
// Answers over HTTP: whole, or as a stream of events that a client of a session may come back to.
#include <algorithm>
#include <utility>

#include "edge/call.h"
#include "edge/events.h"
#include "edge/mcp/server.h"
#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::JsonWriter;

constexpr base::Duration sweep_interval = base::seconds(1);

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

Stream& Server::open(Stream::Kind kind, const Request& request, Session* session) {
  auto made = std::make_unique<Stream>();
  Stream& stream = *made;
  stream.number = ++last_number_;
  stream.kind = kind;
  stream.exchange = request.exchange;
  stream.session = session == nullptr ? 0 : session->number;
  stream.principal = request.principal;
  stream.takes_events = takes_events(request.http);
  by_exchange_[request.exchange] = stream.number;
  streams_.emplace(stream.number, std::move(made));
  if (kind != Stream::Kind::post) {
    ++load(stream.principal).streams;
  }
  return stream;
}

Stream* Server::find_stream(uint64_t number) {
  const auto at = streams_.find(number);
  return at == streams_.end() ? nullptr : at->second.get();
}

Session* Server::session_of(const Stream& stream) {
  const auto at = sessions_by_number_.find(stream.session);
  return at == sessions_by_number_.end() ? nullptr : at->second;
}

// One of the requests on the stream has its answer; an empty one was cancelled and gets none.
void Server::answer(Stream& stream, std::string text, int status) {
  if (stream.kind == Stream::Kind::get) {  // the old transport's, which stays
    if (!text.empty()) {
      send_event(stream, text);
    }
    return;
  }
  --stream.unanswered;
  if (stream.is_events) {
    if (!text.empty()) {
      send_event(stream, text);
    }
    if (stream.unanswered == 0) {
      end_stream(stream);
    }
    return;
  }
  if (stream.is_batch) {
    if (!text.empty()) {
      stream.answers.push_back(std::move(text));
    }
    if (stream.unanswered > 0) {
      return;
    }
    text.clear();
    for (const std::string& each : stream.answers) {
      text.append(text.empty() ? "[" : ",").append(each);
    }
    text.append(text.empty() ? "" : "]");
    status = text.empty() ? 202 : 200;
  }
  const auto exchange = stream.exchange;
  forget_stream(stream);
  if (exchange) {
    net::Response response = json_response(status, std::move(text));
    if (response.body.empty()) {
      response.content_type.clear();
    }
    host_.respond(*exchange, std::move(response));
  }
}

void Server::send_head(Stream& stream) {
  net::Response head;
  head.content_type = "text/event-stream";
  head.headers.emplace_back("Cache-Control", "no-store");
  head.headers.emplace_back("X-Accel-Buffering", "no");  // for proxies
  // The connection ends with the stream; a client that did not know would send its next request
  // on it, and lose that.
  head.headers.emplace_back("Connection", "close");
  host_.start_stream(*stream.exchange, head);
  stream.is_events = true;
  stream.told = now();
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
    std::string priming =
        "id: " + std::to_string(stream.number) + "-" + std::to_string(stream.last_event) + "\n";
    append_event_data(priming, "");
    host_.send(stream.exchange->connection, priming);
  }
  for (const std::string& each : std::exchange(stream.answers, {})) {
    send_event(stream, each);
  }
}

// A message before the answer, or on a stream of its own. False when it could not be told.
bool Server::tell(Stream& stream, std::string_view text) {
  begin_events(stream);
  if (!stream.is_events || (stream.exchange && !host_.has_room(stream.exchange->connection))) {
    return false;
  }
  send_event(stream, text);
  return true;
}

void Server::send_event(Stream& stream, std::string_view text) {
  std::string event;
  Session* const session = session_of(stream);
  if (session != nullptr && !session->is_old_transport) {
    event =
        "id: " + std::to_string(stream.number) + "-" + std::to_string(++stream.last_event) + "\n";
  }
  event += "event: message\n";
  append_event_data(event, text);
  if (stream.exchange) {
    host_.send(stream.exchange->connection, event);
    stream.told = now();
  }
  if (session == nullptr || session->is_old_transport) {
    return;
  }
  session->kept_bytes += event.size();
  session->kept.push_back({stream.number, stream.last_event, std::move(event)});
  while (session->kept.size() > options_.limits.kept_events_max ||
         (session->kept_bytes > options_.limits.kept_bytes_max && session->kept.size() > 1)) {
    session->kept_bytes -= session->kept.front().text.size();
    session->kept.pop_front();
  }
}

// The connection closes; the stream goes on, for a client that comes back.
void Server::hang_up(Stream& stream) {
  const net::Exchange exchange = *stream.exchange;
  stream.exchange.reset();
  stream.told = now();
  by_exchange_.erase(exchange);
  if (stream.kind != Stream::Kind::post) {
    --load(stream.principal).streams;
  }
  host_.close(exchange.connection);
}

void Server::end_stream(Stream& stream) {
  const auto exchange = stream.exchange;
  if (exchange && stream.kind == Stream::Kind::listen) {
    send_event(stream, result_text(stream.id, R"("resultType":"complete","_meta":{)"
                                              R"("io.modelcontextprotocol/subscriptionId":)" +
                                                  stream.id + "}"));
  }
  const bool is_events = stream.is_events;
  forget_stream(stream);
  if (exchange && is_events) {
    host_.close(exchange->connection);
  } else if (exchange) {
    host_.respond(*exchange, {.status = 404, .content_type = {}});  // its session ended
  }
}

void Server::forget_stream(Stream& stream) {
  const uint64_t number = stream.number;
  if (stream.exchange) {
    by_exchange_.erase(*stream.exchange);
    if (stream.kind != Stream::Kind::post) {
      --load(stream.principal).streams;
    }
  }
  if (Session* const session = session_of(stream);
      session != nullptr && session->stream == number) {
    session->stream = 0;
  }
  if (const auto at = subscriptions_.find(number); at != subscriptions_.end()) {
    for (const std::string& uri : at->second) {
      const auto subscribed = subscribers_.find({stream.principal.workspace, uri});
      subscribed->second.erase(number);
      if (subscribed->second.empty()) {
        subscribers_.erase(subscribed);
      }
    }
    subscriptions_.erase(at);
  }
  notices_.erase(number);
  streams_.erase(number);
}

void Server::on_closed(net::ConnectionId connection) {
  auto at = by_exchange_.lower_bound(net::Exchange{connection, 0});
  while (at != by_exchange_.end() && at->first.connection == connection) {
    const uint64_t number = at->second;
    at = by_exchange_.erase(at);
    if (Stream* const stream = find_stream(number)) {
      client_left(*stream);
      at = by_exchange_.lower_bound(net::Exchange{connection, 0});
    }
  }
}

// Hanging up cancels, in the modern era. In the legacy one the calls go on if the client can come
// back for their answers: it can where it got the id of an event.
void Server::client_left(Stream& stream) {
  if (stream.kind != Stream::Kind::post) {
    --load(stream.principal).streams;
  }
  stream.exchange.reset();
  stream.told = now();
  Session* const session = session_of(stream);
  if (session != nullptr && session->is_old_transport) {
    end_session(*session);
    return;
  }
  if (session != nullptr && stream.is_events) {
    return;
  }
  const uint64_t number = stream.number;
  const std::set<uint64_t> runs = stream.runs;
  for (const uint64_t each : runs) {
    if (Running* const run = find_run(each)) {
      cancel(*run);
    }
  }
  if (Stream* const left = find_stream(number)) {
    forget_stream(*left);
  }
}

void Server::on_drained(net::ConnectionId) { notices_due_ = true; }

void Server::updated(core::WorkspaceId workspace, std::string_view agent, std::string_view uri) {
  const auto at = subscribers_.find({workspace, std::string(uri)});
  if (at == subscribers_.end()) {
    return;
  }
  for (const uint64_t subscriber : at->second) {
    const auto session = sessions_by_number_.find(subscriber);
    const Stream* const stream = find_stream(subscriber);
    const Principal& owner = session != sessions_by_number_.end()
                                 ? session->second->client.principal
                                 : stream->principal;
    if (agent.empty() || owner.name == agent) {
      notices_[subscriber].insert({Notice::Kind::updated, std::string(uri)});
      notices_due_ = true;
    }
  }
}

void Server::list_changed(Notice::Kind list) {
  notices_due_ = true;
  for (const auto& [number, session] : sessions_by_number_) {
    notices_[number].insert({list});
  }
  for (const auto& [number, stream] : streams_) {
    if (stream->lists.contains(list)) {
      notices_[number].insert({list});
    }
  }
}

// False when there is no stream for it now, or no room on it.
bool Server::notify(uint64_t subscriber, const Notice& notice) {
  const auto session = sessions_by_number_.find(subscriber);
  Stream* const stream =
      find_stream(session == sessions_by_number_.end() ? subscriber : session->second->stream);
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

void Server::flush_notices() {
  for (auto at = notices_.begin(); at != notices_.end();) {
    const uint64_t subscriber = at->first;
    std::erase_if(at->second, [&](const Notice& notice) { return notify(subscriber, notice); });
    at = at->second.empty() ? notices_.erase(at) : std::next(at);
  }
}

base::Time Server::on_turn(base::Time now) {
  waits_.run(now);
  if (std::exchange(notices_due_, false)) {
    flush_notices();
  }
  const bool is_idle = streams_.empty() && sessions_.empty();
  if (!is_idle && now >= next_sweep_) {
    sweep(now);
    next_sweep_ = now + sweep_interval;
  }
  return is_idle ? waits_.next() : std::min(waits_.next(), next_sweep_);
}

// Ends what nobody comes back for, and keeps up what is silent.
void Server::sweep(base::Time now) {
  const Limits& limits = options_.limits;
  std::vector<uint64_t> over;
  for (const auto& [number, stream] : streams_) {
    const bool is_open = stream->exchange && stream->is_events;
    if ((is_open && !host_.is_current(stream->principal)) ||
        (!stream->exchange && stream->told + limits.resume_within < now)) {
      over.push_back(number);
    } else if (is_open && stream->told + limits.keep_alive <= now) {
      host_.send(stream->exchange->connection, ":\n\n");
      stream->told = now;
      host_.note_call(stream->principal);
    }
  }
  for (const uint64_t number : over) {
    Stream* const stream = find_stream(number);
    if (stream == nullptr) {
      continue;  // with another
    }
    const std::set<uint64_t> runs = stream->runs;
    for (const uint64_t each : runs) {
      if (Running* const run = find_run(each)) {
        cancel(*run);
      }
    }
    if (Stream* const left = find_stream(number)) {
      end_stream(*left);
    }
  }
  std::vector<Session*> idle;
  for (const auto& [id, session] : sessions_) {
    const Stream* const stream = find_stream(session->stream);
    const bool is_open = stream != nullptr && stream->exchange;
    if (!is_open && session->runs.empty() && session->used + limits.session_idle < now) {
      idle.push_back(session.get());
    }
  }
  for (Session* const session : idle) {
    end_session(*session);
  }
  std::vector<uint64_t> unanswered;
  for (const auto& [number, run] : runs_) {
    if (run->questions > 0 && run->asked_at + limits.state_ttl < now) {
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
