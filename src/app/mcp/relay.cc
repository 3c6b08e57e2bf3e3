// SPDX-License-Identifier: Apache-2.0
#include "app/mcp/relay.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "app/client/agent_token.h"
#include "app/text/terminal.h"
#include "edge/answers/problem.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

namespace mcp = edge::mcp;
using std::chrono::milliseconds;
using Kind = McpMessage::Kind;

constexpr size_t line_bytes_max = size_t{8} << 20;
constexpr size_t answer_bytes_max = size_t{64} << 20;
constexpr size_t flights_max = 256;
constexpr base::Duration connect_patience = base::seconds(3);
constexpr milliseconds note_patience(5'000);  // the broker takes a notification at once
constexpr milliseconds end_patience(1'000);   // for answers, when the client has hung up
constexpr milliseconds end_session_patience(200);
constexpr milliseconds listen_pause_min(250);  // before a broken stream is asked for again
constexpr milliseconds listen_pause_max(5'000);
constexpr std::string_view path = "/mcp";
constexpr std::string_view resource_prefix = "resource ";  // of what is subscribed to
constexpr std::string_view initialized =
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

// Whoever speaks to us on stdio sets no headers.
Failure refusal_of(int status, const std::string& body) {
  Failure failure = refusal({status, body, {}});
  if (status == 401) {
    if (failure.detail == edge::token_wanted) {
      failure.detail = "the broker does not know the token";
    }
    failure.advice =
        "Set PARLEY_TOKEN to the agent's token, or name the agent with --agent NAME; "
        "`parley agent add NAME` makes a token.";
  }
  return failure;
}

// What a line is about whose effect lasts as long as the session; empty for any other line.
std::string lasting_key(const std::string& line, const McpMessage& message) {
  if (message.method == "logging/setLevel") {
    return message.method;
  }
  if (message.method != "resources/subscribe" && message.method != "resources/unsubscribe") {
    return {};
  }
  lib::JsonDocument document;
  const auto json = document.parse(line);
  const lib::Json params = json ? json->find("params") : lib::Json();
  return params ? std::string(resource_prefix) + text_of(params, "uri") : "";
}

}  // namespace

McpRelay::McpRelay(std::string agent, ClientOptions options)
    : agent_(std::move(agent)), options_(std::move(options)) {}

void McpRelay::run() {
  while (!is_broken_ && Clock::now() < last_moment_ && !(input_.is_at_end && is_idle())) {
    wait();
    for (auto pending = pending_.begin(); pending != pending_.end();) {
      advance(pending++);  // which may take it, and no other, off the list
    }
    std::erase_if(pending_, [](const PendingRequest& pending) { return pending.is_over; });
    act_on_time();
    take_lines();
  }
  pending_.clear();
  end_session();
}

// Standard input waits while the session begins, and while a notification is under way: each
// request has a connection of its own, so a later line could overtake the notification.
bool McpRelay::is_gated() const {
  const auto is_gate = [](const PendingRequest& pending) {
    return pending.kind == PendingRequest::Kind::note ||
           (pending.kind == PendingRequest::Kind::request &&
            pending.message.method == "initialize");
  };
  return session_.phase != Phase::steady || std::ranges::any_of(pending_, is_gate);
}

bool McpRelay::is_idle() const {
  const bool waits = std::ranges::any_of(pending_, [](const PendingRequest& pending) {
    return !pending.waiting.empty() || pending.kind == PendingRequest::Kind::note;
  });
  const bool replays = session_.phase != Phase::steady || !session_.parked.empty();
  return !waits && !replays && input_.text.empty();
}

int McpRelay::timeout_ms() const {
  Clock::time_point next = std::min(last_moment_, session_.listen_at);
  for (const PendingRequest& pending : pending_) {
    next = pending.fetch.has_more() ? Clock::time_point::min() : std::min(next, pending.until);
  }
  if (next == Clock::time_point::max()) {
    return -1;
  }
  const auto now = Clock::now();
  const auto left = std::chrono::ceil<milliseconds>(std::max(next, now) - now).count();
  return static_cast<int>(std::min<int64_t>(left, 60'000));
}

void McpRelay::wait() {
  std::vector<pollfd> wanted;
  const bool reads = !input_.is_at_end && !is_gated();
  const bool looks = reads || (!input_.is_at_end && last_moment_ == Clock::time_point::max());
  wanted.push_back({looks ? STDIN_FILENO : -1, static_cast<short>(reads ? POLLIN : 0), 0});
  // A client that is gone is noticed also while nothing is written.
  wanted.push_back({STDOUT_FILENO, 0, 0});
  for (const PendingRequest& pending : pending_) {
    const int events = pending.fetch.wants_write() ? POLLIN | POLLOUT : POLLIN;
    wanted.push_back({pending.fetch.fd(), static_cast<short>(events), 0});
  }
  ::poll(wanted.data(), wanted.size(), timeout_ms());
  if ((wanted[1].revents & (POLLERR | POLLNVAL)) != 0) {
    is_broken_ = true;
  }
  if (reads && wanted[0].revents != 0) {
    read_input();
  } else if (wanted[0].revents != 0) {
    hang_up();  // what it wrote before is still read, if there is time
  }
}

void McpRelay::read_input() {
  std::array<char, 64 * 1'024> buffer;
  const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
    return;
  }
  if (got <= 0) {
    input_.is_at_end = true;
    hang_up();
    // A last line may lack its end.
    input_.text += input_.text.empty() ? "" : "\n";
    return;
  }
  input_.text.append(buffer.data(), static_cast<size_t>(got));
  if (input_.text.size() > line_bytes_max && input_.text.find('\n') == input_.text.npos) {
    if (!std::exchange(input_.skips_line, true)) {
      write(mcp_error_line("null",
                           {mcp::invalid_request, "a line is over 8 MiB", "PAYLOAD_TOO_LARGE"}));
    }
    input_.text.clear();
  }
}

void McpRelay::hang_up() { last_moment_ = std::min(last_moment_, Clock::now() + end_patience); }

void McpRelay::take_lines() {
  size_t from = 0;
  while (!is_gated()) {
    const size_t end = input_.text.find('\n', from);
    if (end == input_.text.npos) {
      break;
    }
    std::string line = input_.text.substr(from, end - from);
    from = end + 1;
    const bool is_rest = std::exchange(input_.skips_line, false);
    if (!is_rest && line.find_first_not_of(" \t\r") != line.npos) {
      take(std::move(line));
    }
  }
  input_.text.erase(0, from);
}

void McpRelay::take(std::string line) {
  McpMessage message = read_mcp_message(line);
  if (message.kind == Kind::none) {
    write(mcp_error_line("null",
                         {mcp::parse_error, "this line is no JSON-RPC message", "BAD_REQUEST"}));
    return;
  }
  if (message.kind != Kind::request) {
    // Of the new era, or of a request that is answered: then there is nothing to tell the broker.
    const bool is_done =
        cancel(message.cancelled) || (session_.id.empty() && session_.initialize_line.empty());
    if (message.cancelled.empty() || !is_done) {
      send(PendingRequest::Kind::note, std::move(line), std::move(message));
    }
    return;
  }
  if (pending_.size() >= flights_max) {
    refuse(message.ids, {"LIMIT_REACHED", "256 requests are under way already",
                         "Wait for an answer, or cancel one."});
    return;
  }
  if (message.method == "initialize") {
    session_.id.clear();
    session_.version.clear();
    session_.lasting.clear();
    session_.listens = false;
    session_.stream_broke = false;
    session_.listen_at = Clock::time_point::max();
    session_.initialize_line = line;
  }
  send(PendingRequest::Kind::request, std::move(line), std::move(message));
}

// Since 2026-07-28 a request is taken back by hanging up. Before, the server is told.
bool McpRelay::cancel(const std::string& id) {
  const auto pending = std::ranges::find_if(pending_, [&](const PendingRequest& each) {
    return !each.message.version.empty() && contains(each.waiting, id);
  });
  if (id.empty() || pending == pending_.end()) {
    return false;
  }
  pending_.erase(pending);
  return true;
}

std::optional<net::Fetch> McpRelay::start(std::string_view method, std::string_view body,
                                          const net::Headers& headers,
                                          const std::vector<std::string>& waiting) {
  // Looked up each time: a broker that was started anew may be elsewhere.
  const auto address = find_broker_as(agent_, options_);
  if (!address) {
    refuse(waiting, address.error());
    return std::nullopt;
  }
  auto fetch = net::Fetch::start(place_of(*address), method, path, body, headers, connect_patience);
  if (!fetch) {
    refuse(waiting, failure_of(fetch.error()));
    return std::nullopt;
  }
  return std::move(*fetch);
}

void McpRelay::send(PendingRequest::Kind kind, std::string line, McpMessage message,
                    bool was_sent_before) {
  net::Headers headers = mcp_headers(message);
  headers.emplace_back("Content-Type", "application/json");
  headers.emplace_back("Accept", "application/json, text/event-stream");
  if (message.version.empty() && !session_.id.empty()) {
    headers.emplace_back("Mcp-Session-Id", session_.id);
  }
  if (message.version.empty() && !session_.version.empty()) {
    headers.emplace_back("MCP-Protocol-Version", session_.version);
  }
  const bool is_request = message.kind == Kind::request;
  auto waiting = is_request ? message.ids : std::vector<std::string>();
  auto fetch = start("POST", line, headers,
                     kind == PendingRequest::Kind::replay ? std::vector<std::string>() : waiting);
  if (!fetch) {
    if (kind == PendingRequest::Kind::replay) {
      on_replayed(false);
    }
    return;
  }
  const bool has_session = message.version.empty();
  PendingRequest pending{kind, std::move(*fetch), std::move(line), std::move(message),
                         std::move(waiting)};
  pending.session = has_session ? session_.id : "";
  pending.was_sent_before = was_sent_before;
  if (kind != PendingRequest::Kind::request) {
    pending.until = Clock::now() + note_patience;
  }
  pending_.push_back(std::move(pending));
}

void McpRelay::listen(const std::string& last_event_id, std::vector<std::string> waiting) {
  net::Headers headers = {{"Accept", "text/event-stream"}, {"Mcp-Session-Id", session_.id}};
  if (!session_.version.empty()) {
    headers.emplace_back("MCP-Protocol-Version", session_.version);
  }
  if (!last_event_id.empty() && mcp_header_value(last_event_id) == last_event_id) {
    headers.emplace_back("Last-Event-ID", last_event_id);
  }
  auto fetch = start("GET", {}, headers, waiting);
  if (!fetch) {
    if (waiting.empty()) {
      session_.pause = std::clamp(session_.pause * 2, listen_pause_min, listen_pause_max);
      session_.listen_at = Clock::now() + session_.pause;
    }
    return;
  }
  pending_.push_back(
      {PendingRequest::Kind::listen, std::move(*fetch), {}, {}, std::move(waiting), session_.id});
}

void McpRelay::act_on_time() {
  const auto now = Clock::now();
  if (now >= session_.listen_at) {
    session_.listen_at = Clock::time_point::max();
    listen(session_.last_event_id, {});
  }
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    const auto each = pending++;
    if (now >= each->until) {
      warn("the broker did not take " + each->message.method + " in time");
      const bool is_replay = each->kind == PendingRequest::Kind::replay;
      pending_.erase(each);
      if (is_replay) {
        on_replayed(false);
      }
    }
  }
}

void McpRelay::advance(PendingRequests::iterator at) {
  PendingRequest& pending = *at;
  if (pending.is_over) {
    return;
  }
  const net::Fetch::State state = pending.fetch.advance();
  if (!pending.has_header && pending.fetch.has_header()) {
    pending.has_header = true;
    if (on_lost_session(at)) {
      return;
    }
    on_header(pending);
  }
  const std::string part = pending.fetch.take_body();
  if (pending.is_stream) {
    pending.events.feed(part);
    while (const auto event = pending.events.next()) {
      if (event->type.empty() || event->type == "message") {
        deliver(pending, event->data);
      }
    }
  } else {
    pending.body += part;
  }
  const bool is_too_long = pending.events.is_broken() || pending.body.size() > answer_bytes_max;
  if (state != net::Fetch::State::open || is_too_long) {
    on_end(at, is_too_long ? net::Fetch::State::failed : state);
  }
}

void McpRelay::on_header(PendingRequest& pending) {
  const int status = pending.fetch.status();
  if (status / 100 == 2) {
    last_warning_.clear();  // the trouble is over
  }
  pending.is_stream =
      status == 200 && pending.fetch.header("content-type").starts_with("text/event-stream");
  if (pending.message.method == "initialize" && status == 200) {
    session_.id = pending.fetch.header("mcp-session-id");
  }
  if (pending.kind == PendingRequest::Kind::listen && pending.is_stream) {
    session_.pause = milliseconds(0);
    if (pending.waiting.empty() && std::exchange(session_.stream_broke, false)) {
      replay_lasting();
    }
  }
}

// The broker knows nothing of the session any more. What was sent in it has done nothing.
bool McpRelay::on_lost_session(PendingRequests::iterator pending) {
  const bool is_lost = pending->fetch.status() == 404 && !pending->session.empty() &&
                       !pending->was_sent_before && pending->kind != PendingRequest::Kind::replay;
  if (!is_lost) {
    return false;
  }
  // Another request met this before, and the session was begun again for it.
  const bool is_replaced = session_.phase == Phase::steady && pending->session != session_.id;
  if (pending->kind == PendingRequest::Kind::listen) {
    refuse(pending->waiting, {"UNAVAILABLE", "the broker was started anew before it answered", {}});
  } else if (pending->message.kind != Kind::response) {  // nobody waits for that any more
    session_.parked.emplace_back(std::move(pending->line), std::move(pending->message));
  }
  pending_.erase(pending);
  if (is_replaced) {
    on_replayed(true);
  } else {
    begin_new_session();
  }
  return true;
}

void McpRelay::begin_new_session() {
  if (std::exchange(session_.phase, Phase::replaying_new) == Phase::replaying_new) {
    return;
  }
  session_.stream_broke = false;
  session_.id.clear();
  session_.version.clear();
  session_.last_event_id.clear();
  session_.listen_at = Clock::time_point::max();
  // Streams of the session that is gone say nothing any more, and what is said in it is in vain.
  for (PendingRequest& pending : pending_) {
    const bool is_own = pending.kind == PendingRequest::Kind::listen && pending.waiting.empty();
    pending.is_over = pending.is_over || is_own || pending.kind == PendingRequest::Kind::replay;
  }
  session_.replay = {session_.initialize_line, std::string(initialized)};
  for (const auto& [key, line] : session_.lasting) {
    session_.replay.push_back(line);
  }
  std::ranges::reverse(session_.replay);
  replay_next();
}

// The session is the same, but whoever broke its stream may have forgotten what was asked for.
void McpRelay::replay_lasting() {
  if (session_.phase != Phase::steady || session_.lasting.empty()) {
    return;
  }
  session_.phase = Phase::replaying_same;
  for (const auto& [key, line] : session_.lasting) {
    session_.replay.push_back(line);
  }
  replay_next();
}

// Nobody watched between the former session and this one.
void McpRelay::notify_of_resources() {
  for (const auto& [key, line] : session_.lasting) {
    if (key.starts_with(resource_prefix)) {
      std::string text;
      lib::JsonWriter out(text);
      out.object().key("jsonrpc").plain("2.0").key("method");
      out.plain("notifications/resources/updated").key("params").object().key("uri");
      out.text(key.substr(resource_prefix.size())).end_object().end_object();
      write(std::move(text));
    }
  }
}

void McpRelay::replay_next() {
  std::string line = std::move(session_.replay.back());
  session_.replay.pop_back();
  McpMessage message = read_mcp_message(line);
  send(PendingRequest::Kind::replay, std::move(line), std::move(message));
}

void McpRelay::on_replayed(bool worked) {
  if (worked && !session_.replay.empty()) {
    replay_next();
    return;
  }
  const bool is_new = std::exchange(session_.phase, Phase::steady) == Phase::replaying_new;
  session_.replay.clear();
  if (worked && is_new) {
    notify_of_resources();
  }
  for (auto& [line, message] : std::exchange(session_.parked, {})) {
    const auto kind =
        message.kind == Kind::request ? PendingRequest::Kind::request : PendingRequest::Kind::note;
    if (worked) {
      send(kind, std::move(line), std::move(message), true);
    } else if (kind == PendingRequest::Kind::request) {
      refuse(message.ids,
             {"UNAVAILABLE", "the session is gone and no other could be begun", "Connect again."});
    }
  }
  const bool is_listening = std::ranges::any_of(pending_, [](const PendingRequest& pending) {
    return pending.kind == PendingRequest::Kind::listen && pending.waiting.empty() &&
           !pending.is_over;
  });
  if (worked && session_.listens && !is_listening) {
    listen({}, {});
  }
}

void McpRelay::on_end(PendingRequests::iterator at, net::Fetch::State state) {
  PendingRequest pending = std::move(*at);
  pending_.erase(at);
  const bool is_done = state == net::Fetch::State::done;
  const int status = pending.fetch.status();
  if (pending.kind == PendingRequest::Kind::listen && pending.waiting.empty()) {
    return on_listen_end(pending);
  }
  if (is_done && !pending.is_stream && !pending.body.empty()) {
    deliver(pending, pending.body);
  }
  if (pending.kind == PendingRequest::Kind::replay) {
    return on_replayed(is_done && status / 100 == 2);
  }
  if (!pending.waiting.empty()) {
    const bool goes_on = pending.is_stream && !pending.events.last_id().empty() &&
                         !session_.id.empty() && !pending.events.is_broken();
    if (goes_on) {
      // The server may hang up in the middle and let us come back for the rest.
      return listen(pending.events.last_id(), std::move(pending.waiting));
    }
    if (is_done && status / 100 != 2) {
      return refuse(pending.waiting, refusal_of(status, pending.body));
    }
    return refuse(pending.waiting,
                  is_done ? Failure{"UNAVAILABLE", "the broker ended without an answer", {}}
                          : failure_of(pending.fetch.error()));
  }
  if (pending.kind == PendingRequest::Kind::note && !(is_done && status / 100 == 2)) {
    warn("the broker did not take " + pending.message.method + ": " +
         (is_done ? refusal_of(status, pending.body).detail : pending.fetch.error().detail));
  }
  if (is_done && pending.message.method == "notifications/initialized" && status / 100 == 2 &&
      !session_.id.empty()) {
    session_.listens = true;
    listen({}, {});
  }
}

// The stream of what the server says by itself. A server that has none says so; one that hangs up
// is asked again, later and later.
void McpRelay::on_listen_end(PendingRequest& pending) {
  constexpr int too_many = 429;  // for now
  const int status = pending.has_header ? pending.fetch.status() : 0;
  const bool has_none = status / 100 == 4 && status != too_many;
  if (has_none || session_.id.empty()) {
    session_.listens = session_.listens && !has_none;
    return;
  }
  if (!pending.events.last_id().empty()) {
    session_.last_event_id = pending.events.last_id();
  }
  session_.stream_broke = true;
  const milliseconds asked(pending.events.retry_ms().value_or(0));
  session_.pause =
      std::clamp(std::max(session_.pause * 2, asked), listen_pause_min, listen_pause_max);
  session_.listen_at = Clock::now() + session_.pause;
}

// One message of the broker's, or an array of them, for the client.
void McpRelay::deliver(PendingRequest& pending, const std::string& json) {
  lib::JsonDocument document;
  const auto parsed = document.parse(json, {.bytes_max = answer_bytes_max, .depth_max = 256});
  const bool is_array = parsed && parsed->kind() == lib::JsonKind::array;
  const bool is_rpc = parsed && (is_array || (parsed->is_object() && parsed->find("jsonrpc")));
  if (!is_rpc) {
    return;  // a problem of the broker's, not of the protocol's: told as one
  }
  const auto settle = [&](lib::Json message) {
    const lib::Json id = message.is_object() ? message.find("id") : lib::Json();
    const bool is_answer = id && (message.find("result") || message.find("error"));
    if (is_answer) {
      std::erase(pending.waiting, std::string(id.raw()));
      const lib::Json result = message.find("result");
      if (result && pending.message.method == "initialize") {
        session_.version = text_of(result, "protocolVersion");
      }
      if (result && pending.kind == PendingRequest::Kind::request) {
        remember(pending.line, pending.message);
      }
    }
  };
  if (is_array) {
    for (const lib::Json element : parsed->elements()) {
      settle(element);
    }
  } else {
    settle(*parsed);
    // An error that does not say whose it is, such as one about headers, is of the one who asked.
    const lib::Json id = parsed->find("id");
    const lib::Json error = parsed->find("error");
    if (error && (!id || id.is_null()) && pending.waiting.size() == 1) {
      const std::string line = R"({"jsonrpc":"2.0","id":)" + pending.waiting.front() +
                               R"(,"error":)" + std::string(error.raw()) + "}";
      return deliver(pending, line);
    }
  }
  if (pending.kind != PendingRequest::Kind::replay) {
    write(in_one_line(json));
  }
}

void McpRelay::remember(const std::string& line, const McpMessage& message) {
  const std::string key = message.version.empty() ? lasting_key(line, message) : "";
  if (key.empty()) {
    return;
  }
  if (message.method == "resources/unsubscribe") {
    session_.lasting.erase(key);
  } else {
    session_.lasting[key] = line;
  }
}

void McpRelay::refuse(const std::vector<std::string>& ids, const Failure& failure) {
  const std::string text = failure.detail + (failure.advice.empty() ? "" : ". " + failure.advice);
  for (const std::string& id : ids) {
    write(mcp_error_line(id, {mcp::internal_error, "parley: " + text, failure.code}));
  }
  warn(failure.detail);
}

void McpRelay::write(std::string line) {
  line += "\n";
  std::string_view rest = line;
  while (!rest.empty() && !is_broken_) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EAGAIN) {
      pollfd wanted{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&wanted, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      is_broken_ = true;
    }
    rest.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
}

// Once for each new trouble, not for each request that meets it.
void McpRelay::warn(const std::string& text) {
  if (std::exchange(last_warning_, text) != text) {
    std::fprintf(stderr, "parley: %s\n", printable(text).c_str());
  }
}

// Politeness: the broker would end it by itself.
void McpRelay::end_session() {
  const auto address =
      session_.id.empty() ? std::unexpected(Failure{}) : find_broker_as(agent_, options_);
  if (!address) {
    return;
  }
  net::Headers headers = {{"Mcp-Session-Id", session_.id}};
  if (!session_.version.empty()) {
    headers.emplace_back("MCP-Protocol-Version", session_.version);
  }
  const base::Duration patience = base::milliseconds(end_session_patience.count());
  auto fetch = net::Fetch::start(place_of(*address), "DELETE", path, {}, headers, patience);
  if (fetch) {
    pollfd wanted{fetch->fd(), POLLIN, 0};
    ::poll(&wanted, 1, static_cast<int>(end_session_patience.count()));
  }
}

int run_mcp(const std::string& agent, const ClientOptions& options) {
  // A client that goes away is an end, not a crash.
  std::signal(SIGPIPE, SIG_IGN);
  McpRelay(agent, options).run();
  return 0;
}

}  // namespace parley::app
