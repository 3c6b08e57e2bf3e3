// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::JsonWriter;

constexpr base::Duration sweep_interval = base::seconds(1);
constexpr int unauthorized = 401;

bool is_json(std::string_view content_type) {
  constexpr std::string_view json = "application/json";
  return content_type.size() >= json.size() &&
         net::equal_ignoring_case(content_type.substr(0, json.size()), json) &&
         (content_type.size() == json.size() || content_type[json.size()] == ';' ||
          content_type[json.size()] == ' ');
}

// A request of the modern era says so in its body. One that says so only in its header gets the
// answer of that era, which names what is missing.
bool is_modern(const net::Request& http, const RpcMessage& message) {
  if (message.meta(version_key)) {
    return true;
  }
  const std::string_view header = http.header("mcp-protocol-version");
  if (header.empty() || message.method == "initialize" || !http.header("mcp-session-id").empty()) {
    return false;
  }
  const auto version = find_version(header);
  return !version || *version > newest_legacy;
}

}  // namespace

ServerState::ServerState(Host& its_host, base::Clock& its_clock, ServerOptions its_options)
    : host(its_host),
      clock(its_clock),
      options(std::move(its_options)),
      // No number is that of another process: clients come back with numbers.
      last_number(static_cast<uint64_t>(its_clock.now().us)),
      sessions(options.limits, options.key) {
  if (options.saved_sessions == nullptr) {
    options.saved_sessions = std::make_unique<SavedSessions>();
  }
}

std::string ServerState::server_info() const {
  std::string text;
  JsonWriter out(text);
  out.object().key("name").plain("parley").key("title").plain("Parley");
  out.key("version").text(options.version).end_object();
  return text;
}

std::string ServerState::modern_result(std::string_view id, std::string_view members,
                                       std::string_view type) const {
  std::string all = "\"resultType\":\"" + std::string(type) + "\"";
  all.append(members.empty() ? "" : ",").append(members);
  all.append(R"(,"_meta":{"io.modelcontextprotocol/serverInfo":)").append(server_info());
  return result_text(id, all.append("}"));
}

Server::Server(Host& host, base::Clock& clock, Options options)
    : state_(host, clock, std::move(options)),
      transport_(state_, [this](uint64_t call) { calls_.cancel(call); }),
      calls_(state_, transport_),
      sessions_(state_, transport_),
      methods_(state_, transport_, calls_),
      modern_(state_, transport_, methods_),
      legacy_(state_, transport_, calls_, methods_, sessions_),
      notifier_(state_, transport_) {}

void Server::add(Features features) { state_.catalog.add(std::move(features)); }

void Server::on_request(const net::Exchange& exchange, const net::Request& http,
                        const Principal& principal) {
  const HttpRequest request{exchange, http, principal};
  if (http.method == "POST") {
    post(request);
  } else if (http.method == "GET") {
    legacy_.get(request);
  } else {
    legacy_.delete_session(request);
  }
}

void Server::post(const HttpRequest& request) {
  constexpr int unsupported_media_type = 415;
  if (!is_json(request.http.header("content-type"))) {
    transport_.refuse(request.exchange, unsupported_media_type,
                      {invalid_request, "send `Content-Type: application/json`"});
    return;
  }
  const auto body = document_.parse(request.http.body);
  if (!body) {
    transport_.refuse(request.exchange, 400, {parse_error, body.error().detail});
    return;
  }
  if (body->is_object()) {
    const auto message = read_message(*body);
    if (!message) {
      transport_.refuse(request.exchange, 400, message.error().error, message.error().id);
      return;
    }
    if (is_modern(request.http, *message)) {
      modern_.post(request, *message);
      return;
    }
  }
  legacy_.post(request, *body);
}

void Server::on_closed(net::ConnectionId connection) {
  while (ResponseStream* const stream = state_.streams.find_on(connection)) {
    state_.streams.detach(*stream);
    client_left(*stream);
  }
}

// Hanging up cancels, in the modern era. In the legacy one the calls go on if the client can come
// back for their answers: it can where it got the id of an event.
void Server::client_left(ResponseStream& stream) {
  McpSession* const session = transport_.session_of(stream);
  if (session != nullptr && session->is_old_transport) {
    sessions_.end(*session);
    return;
  }
  const bool got_id = session != nullptr && stream.is_events &&
                      (session->version >= Version::v2025_11_25 || stream.last_event > 0);
  if (stream.kind == ResponseStream::Kind::post && got_id) {
    stream.last_sent = now();
  } else {
    transport_.retire(stream);
  }
}

void Server::on_drained(net::ConnectionId) { state_.notices_due = true; }

base::Time Server::on_turn(base::Time now) {
  state_.waits.run(now);
  notifier_.send_due();
  const bool is_idle = streams() == 0 && sessions() == 0;
  if (!is_idle && now >= next_sweep_) {
    sweep_streams(now);
    sessions_.evict_idle(now);
    calls_.end_unanswered(now);
    next_sweep_ = now + sweep_interval;
  }
  if (state_.notices_due) {
    return now;
  }
  return is_idle ? state_.waits.next() : std::min(state_.waits.next(), next_sweep_);
}

// Ends the streams whose client did not come back in time or whose token is gone. A silent stream
// gets a comment now and then, so that nobody in between takes its connection for dead.
void Server::sweep_streams(base::Time now) {
  const Limits& limits = state_.options.limits;
  std::vector<std::pair<uint64_t, int>> over;  // and the status
  for (const auto& [number, stream] : state_.streams.all()) {
    if (!state_.host.is_current(stream->principal)) {
      over.emplace_back(number, unauthorized);
    } else if (!stream->exchange && stream->last_sent + limits.resume_within < now) {
      over.emplace_back(number, session_gone);
    } else if (stream->exchange && stream->is_events &&
               stream->last_sent + limits.keep_alive <= now) {
      state_.host.send(stream->exchange->connection, ":\n\n");
      stream->last_sent = now;
      state_.host.note_call(stream->principal);
    }
  }
  for (const auto& [number, status] : over) {
    if (ResponseStream* const stream = state_.streams.find(number)) {
      transport_.end(*stream, status);
    }
  }
}

}  // namespace parley::edge::mcp
