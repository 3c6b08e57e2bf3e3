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

#include "app/agent_token.h"
#include "app/mcp/command.h"
#include "app/terminal.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using std::chrono::milliseconds;
using Kind = McpMessage::Kind;

constexpr size_t line_bytes_max = size_t{8} << 20;
constexpr size_t answer_bytes_max = size_t{64} << 20;
constexpr size_t flights_max = 256;
constexpr base::Duration connect_patience = base::seconds(3);
constexpr milliseconds note_patience(5'000);    // the broker takes a notification at once
constexpr milliseconds end_patience(1'000);     // for answers, when the client has hung up
constexpr milliseconds farewell_patience(200);  // for the end of the session
constexpr milliseconds listen_pause_min(250);   // before a broken stream is asked for again
constexpr milliseconds listen_pause_max(5'000);
constexpr std::string_view path = "/mcp";
constexpr std::string_view resource_prefix = "resource ";  // of what is subscribed to
constexpr std::string_view initialized =
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

bool holds(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

// Whoever speaks to us on stdio sets no headers.
Failure refusal_of(int status, const std::string& body) {
  Failure failure = refusal({status, body, {}});
  if (status == 401) {
    if (failure.detail.find("Authorization") != failure.detail.npos) {
      failure.detail = "the broker does not know the token";
    }
    failure.advice =
        "Set PARLEY_TOKEN to the agent's token, or name the agent with --agent NAME; "
        "`parley agent add NAME` makes a token.";
  }
  return failure;
}

// What stays asked for until the session ends, by what it is about; empty for anything else.
std::string standing_key(const std::string& line, const McpMessage& message) {
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
  while (!is_broken_ && Clock::now() < last_moment_ && !(is_at_end_ && is_idle())) {
    wait();
    for (auto flight = flights_.begin(); flight != flights_.end();) {
      advance(flight++);  // which may take it, and no other, off the list
    }
    std::erase_if(flights_, [](const Flight& flight) { return flight.is_over; });
    act_on_time();
    take_lines();
  }
  flights_.clear();
  end_session();
}

// Nothing is asked of the broker before the session has begun, and nothing overtakes a
// notification, for each goes its own way. Standard input waits meanwhile.
bool McpRelay::is_gated() const {
  return is_renewing_ || std::ranges::any_of(flights_, [](const Flight& flight) {
           return flight.kind == Flight::Kind::note ||
                  (flight.kind == Flight::Kind::request && flight.message.method == "initialize");
         });
}

bool McpRelay::is_idle() const {
  const bool waits = std::ranges::any_of(flights_, [](const Flight& flight) {
    return !flight.waiting.empty() || flight.kind == Flight::Kind::note;
  });
  return !waits && !is_renewing_ && held_.empty() && input_.empty();
}

int McpRelay::timeout_ms() const {
  Clock::time_point next = std::min(last_moment_, listen_at_);
  for (const Flight& flight : flights_) {
    next = flight.fetch.has_more() ? Clock::time_point::min() : std::min(next, flight.until);
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
  const bool reads = !is_at_end_ && !is_gated();
  const bool looks = reads || (!is_at_end_ && last_moment_ == Clock::time_point::max());
  wanted.push_back({looks ? STDIN_FILENO : -1, static_cast<short>(reads ? POLLIN : 0), 0});
  // A client that is gone is noticed also while nothing is written.
  wanted.push_back({STDOUT_FILENO, 0, 0});
  for (const Flight& flight : flights_) {
    const int events = flight.fetch.wants_write() ? POLLIN | POLLOUT : POLLIN;
    wanted.push_back({flight.fetch.fd(), static_cast<short>(events), 0});
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
    is_at_end_ = true;
    hang_up();
    // A last line may lack its end.
    input_ += input_.empty() ? "" : "\n";
    return;
  }
  input_.append(buffer.data(), static_cast<size_t>(got));
  if (input_.size() > line_bytes_max && input_.find('\n') == input_.npos) {
    if (!std::exchange(skips_line_, true)) {
      write(mcp_error_line("null", {-32600, "a line is over 8 MiB", "PAYLOAD_TOO_LARGE"}));
    }
    input_.clear();
  }
}

void McpRelay::hang_up() { last_moment_ = std::min(last_moment_, Clock::now() + end_patience); }

void McpRelay::take_lines() {
  size_t from = 0;
  while (!is_gated()) {
    const size_t end = input_.find('\n', from);
    if (end == input_.npos) {
      break;
    }
    std::string line = input_.substr(from, end - from);
    from = end + 1;
    const bool is_rest = std::exchange(skips_line_, false);
    if (!is_rest && line.find_first_not_of(" \t\r") != line.npos) {
      take(std::move(line));
    }
  }
  input_.erase(0, from);
}

void McpRelay::take(std::string line) {
  McpMessage message = read_mcp_message(line);
  if (message.kind == Kind::none) {
    write(mcp_error_line("null", {-32700, "this line is no JSON-RPC message", "BAD_REQUEST"}));
    return;
  }
  if (message.kind != Kind::request) {
    // Of the new era, or of a request that is answered: then there is nothing to tell the broker.
    const bool is_told = cancel(message.cancelled) || (session_.empty() && greeting_.empty());
    if (message.cancelled.empty() || !is_told) {
      send(Flight::Kind::note, std::move(line), std::move(message));
    }
    return;
  }
  if (flights_.size() >= flights_max) {
    refuse(message.ids, {"LIMIT_REACHED", "256 requests are under way already",
                         "Wait for an answer, or cancel one."});
    return;
  }
  if (message.method == "initialize") {
    session_.clear();
    version_.clear();
    standing_.clear();
    listens_ = false;
    stream_broke_ = false;
    listen_at_ = Clock::time_point::max();
    greeting_ = line;
  }
  send(Flight::Kind::request, std::move(line), std::move(message));
}

// Since 2026-07-28 a request is taken back by hanging up. Before, the server is told.
bool McpRelay::cancel(const std::string& id) {
  const auto flight = std::ranges::find_if(flights_, [&](const Flight& each) {
    return !each.message.version.empty() && holds(each.waiting, id);
  });
  if (id.empty() || flight == flights_.end()) {
    return false;
  }
  flights_.erase(flight);
  return true;
}

std::optional<net::Fetch> McpRelay::start(std::string_view method, std::string_view body,
                                          const net::Headers& headers,
                                          const std::vector<std::string>& waiting) {
  // Looked up each time: a broker that was started anew may be elsewhere.
  const auto target = find_broker_as(agent_, options_);
  if (!target) {
    refuse(waiting, target.error());
    return std::nullopt;
  }
  auto fetch = net::Fetch::start({target->url, target->token, target->ca}, method, path, body,
                                 headers, connect_patience);
  if (!fetch) {
    refuse(waiting, failure_of(fetch.error()));
    return std::nullopt;
  }
  return std::move(*fetch);
}

void McpRelay::send(Flight::Kind kind, std::string line, McpMessage message, bool was_sent_before) {
  net::Headers headers = mcp_headers(message);
  headers.emplace_back("Content-Type", "application/json");
  headers.emplace_back("Accept", "application/json, text/event-stream");
  if (message.version.empty() && !session_.empty()) {
    headers.emplace_back("Mcp-Session-Id", session_);
  }
  if (message.version.empty() && !version_.empty()) {
    headers.emplace_back("MCP-Protocol-Version", version_);
  }
  const bool is_request = message.kind == Kind::request;
  auto waiting = is_request ? message.ids : std::vector<std::string>();
  auto fetch = start("POST", line, headers,
                     kind == Flight::Kind::renewal ? std::vector<std::string>() : waiting);
  if (!fetch) {
    if (kind == Flight::Kind::renewal) {
      on_renewed(false);
    }
    return;
  }
  const bool has_session = message.version.empty();
  Flight flight{kind, std::move(*fetch), std::move(line), std::move(message), std::move(waiting)};
  flight.session = has_session ? session_ : "";
  flight.was_sent_before = was_sent_before;
  if (kind != Flight::Kind::request) {
    flight.until = Clock::now() + note_patience;
  }
  flights_.push_back(std::move(flight));
}

void McpRelay::listen(const std::string& behind, std::vector<std::string> waiting) {
  net::Headers headers = {{"Accept", "text/event-stream"}, {"Mcp-Session-Id", session_}};
  if (!version_.empty()) {
    headers.emplace_back("MCP-Protocol-Version", version_);
  }
  if (!behind.empty() && mcp_header_value(behind) == behind) {
    headers.emplace_back("Last-Event-ID", behind);
  }
  auto fetch = start("GET", {}, headers, waiting);
  if (!fetch) {
    if (waiting.empty()) {
      pause_ = std::clamp(pause_ * 2, listen_pause_min, listen_pause_max);
      listen_at_ = Clock::now() + pause_;
    }
    return;
  }
  flights_.push_back(
      {Flight::Kind::listen, std::move(*fetch), {}, {}, std::move(waiting), session_});
}

void McpRelay::act_on_time() {
  const auto now = Clock::now();
  if (now >= listen_at_) {
    listen_at_ = Clock::time_point::max();
    listen(behind_, {});
  }
  for (auto flight = flights_.begin(); flight != flights_.end();) {
    const auto each = flight++;
    if (now >= each->until) {
      warn("the broker did not take " + each->message.method + " in time");
      const bool is_renewal = each->kind == Flight::Kind::renewal;
      flights_.erase(each);
      if (is_renewal) {
        on_renewed(false);
      }
    }
  }
}

void McpRelay::advance(Flights::iterator at) {
  Flight& flight = *at;
  if (flight.is_over) {
    return;
  }
  const net::Fetch::State state = flight.fetch.advance();
  if (!flight.has_header && flight.fetch.has_header()) {
    flight.has_header = true;
    if (on_lost_session(at)) {
      return;
    }
    on_header(flight);
  }
  const std::string part = flight.fetch.take_body();
  if (flight.is_stream) {
    flight.events.feed(part);
    while (const auto event = flight.events.next()) {
      if (event->type.empty() || event->type == "message") {
        deliver(flight, event->data);
      }
    }
  } else {
    flight.body += part;
  }
  const bool is_too_long = flight.events.is_broken() || flight.body.size() > answer_bytes_max;
  if (state != net::Fetch::State::open || is_too_long) {
    on_end(at, is_too_long ? net::Fetch::State::failed : state);
  }
}

void McpRelay::on_header(Flight& flight) {
  const int status = flight.fetch.status();
  if (status / 100 == 2) {
    last_warning_.clear();  // the trouble is over
  }
  flight.is_stream =
      status == 200 && flight.fetch.header("content-type").starts_with("text/event-stream");
  if (flight.message.method == "initialize" && status == 200) {
    session_ = flight.fetch.header("mcp-session-id");
  }
  if (flight.kind == Flight::Kind::listen && flight.is_stream) {
    pause_ = milliseconds(0);
    if (flight.waiting.empty() && std::exchange(stream_broke_, false)) {
      repeat_standing();
    }
  }
}

// The broker knows nothing of the session any more. What was sent in it has done nothing.
bool McpRelay::on_lost_session(Flights::iterator flight) {
  const bool is_lost = flight->fetch.status() == 404 && !flight->session.empty() &&
                       !flight->was_sent_before && flight->kind != Flight::Kind::renewal;
  if (!is_lost) {
    return false;
  }
  const bool is_renewed = !is_renewing_ && flight->session != session_;
  if (flight->kind == Flight::Kind::listen) {
    refuse(flight->waiting, {"UNAVAILABLE", "the broker was started anew before it answered", {}});
  } else if (flight->message.kind != Kind::response) {  // nobody waits for that any more
    held_.emplace_back(std::move(flight->line), std::move(flight->message));
  }
  flights_.erase(flight);
  if (is_renewed) {
    on_renewed(true);  // meanwhile, for another
  } else {
    renew();
  }
  return true;
}

void McpRelay::renew() {
  if (std::exchange(is_renewing_, true) && is_new_session_) {
    return;
  }
  is_new_session_ = true;
  stream_broke_ = false;
  session_.clear();
  version_.clear();
  behind_.clear();
  listen_at_ = Clock::time_point::max();
  // Streams of the session that is gone say nothing any more, and what is said in it is in vain.
  for (Flight& flight : flights_) {
    const bool is_own = flight.kind == Flight::Kind::listen && flight.waiting.empty();
    flight.is_over = flight.is_over || is_own || flight.kind == Flight::Kind::renewal;
  }
  renewal_ = {greeting_, std::string(initialized)};
  for (const auto& [key, line] : standing_) {
    renewal_.push_back(line);
  }
  std::ranges::reverse(renewal_);
  renew_next();
}

// The session is the same, but whoever broke its stream may have forgotten what was asked for.
void McpRelay::repeat_standing() {
  if (is_renewing_ || standing_.empty()) {
    return;
  }
  is_renewing_ = true;
  is_new_session_ = false;
  for (const auto& [key, line] : standing_) {
    renewal_.push_back(line);
  }
  renew_next();
}

// Nobody watched between the former session and this one.
void McpRelay::tell_of_standing() {
  for (const auto& [key, line] : standing_) {
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

void McpRelay::renew_next() {
  std::string line = std::move(renewal_.back());
  renewal_.pop_back();
  McpMessage message = read_mcp_message(line);
  send(Flight::Kind::renewal, std::move(line), std::move(message));
}

void McpRelay::on_renewed(bool worked) {
  if (worked && !renewal_.empty()) {
    renew_next();
    return;
  }
  is_renewing_ = false;
  renewal_.clear();
  if (worked && std::exchange(is_new_session_, false)) {
    tell_of_standing();
  }
  for (auto& [line, message] : std::exchange(held_, {})) {
    const auto kind = message.kind == Kind::request ? Flight::Kind::request : Flight::Kind::note;
    if (worked) {
      send(kind, std::move(line), std::move(message), true);
    } else if (kind == Flight::Kind::request) {
      refuse(message.ids,
             {"UNAVAILABLE", "the session is gone and no other could be begun", "Connect again."});
    }
  }
  const bool is_listening = std::ranges::any_of(flights_, [](const Flight& flight) {
    return flight.kind == Flight::Kind::listen && flight.waiting.empty() && !flight.is_over;
  });
  if (worked && listens_ && !is_listening) {
    listen({}, {});
  }
}

void McpRelay::on_end(Flights::iterator at, net::Fetch::State state) {
  Flight flight = std::move(*at);
  flights_.erase(at);
  const bool is_done = state == net::Fetch::State::done;
  const int status = flight.fetch.status();
  if (flight.kind == Flight::Kind::listen && flight.waiting.empty()) {
    return on_listen_end(flight);
  }
  if (is_done && !flight.is_stream && !flight.body.empty()) {
    deliver(flight, flight.body);
  }
  if (flight.kind == Flight::Kind::renewal) {
    return on_renewed(is_done && status / 100 == 2);
  }
  if (!flight.waiting.empty()) {
    const bool goes_on = flight.is_stream && !flight.events.last_id().empty() &&
                         !session_.empty() && !flight.events.is_broken();
    if (goes_on) {
      // The server may hang up in the middle and let us come back for the rest.
      return listen(flight.events.last_id(), std::move(flight.waiting));
    }
    if (is_done && status / 100 != 2) {
      return refuse(flight.waiting, refusal_of(status, flight.body));
    }
    return refuse(flight.waiting,
                  is_done ? Failure{"UNAVAILABLE", "the broker ended without an answer", {}}
                          : failure_of(flight.fetch.error()));
  }
  if (flight.kind == Flight::Kind::note && !(is_done && status / 100 == 2)) {
    warn("the broker did not take " + flight.message.method + ": " +
         (is_done ? refusal_of(status, flight.body).detail : flight.fetch.error().detail));
  }
  if (is_done && flight.message.method == "notifications/initialized" && status / 100 == 2 &&
      !session_.empty()) {
    listens_ = true;
    listen({}, {});
  }
}

// The stream of what the server says by itself. A server that has none says so; one that hangs up
// is asked again, later and later.
void McpRelay::on_listen_end(Flight& flight) {
  constexpr int too_many = 429;  // for now
  const int status = flight.has_header ? flight.fetch.status() : 0;
  const bool has_none = status / 100 == 4 && status != too_many;
  if (has_none || session_.empty()) {
    listens_ = listens_ && !has_none;
    return;
  }
  behind_ = flight.events.last_id().empty() ? behind_ : flight.events.last_id();
  stream_broke_ = true;
  const milliseconds asked(flight.events.retry_ms().value_or(0));
  pause_ = std::clamp(std::max(pause_ * 2, asked), listen_pause_min, listen_pause_max);
  listen_at_ = Clock::now() + pause_;
}

// One message of the broker's, or an array of them, for the client.
void McpRelay::deliver(Flight& flight, const std::string& json) {
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
      std::erase(flight.waiting, std::string(id.raw()));
      const lib::Json result = message.find("result");
      if (result && flight.message.method == "initialize") {
        version_ = text_of(result, "protocolVersion");
      }
      if (result && flight.kind == Flight::Kind::request) {
        remember(flight.line, flight.message);
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
    if (error && (!id || id.is_null()) && flight.waiting.size() == 1) {
      const std::string line = R"({"jsonrpc":"2.0","id":)" + flight.waiting.front() +
                               R"(,"error":)" + std::string(error.raw()) + "}";
      return deliver(flight, line);
    }
  }
  if (flight.kind != Flight::Kind::renewal) {
    write(in_one_line(json));
  }
}

void McpRelay::remember(const std::string& line, const McpMessage& message) {
  const std::string key = message.version.empty() ? standing_key(line, message) : "";
  if (key.empty()) {
    return;
  }
  if (message.method == "resources/unsubscribe") {
    standing_.erase(key);
  } else {
    standing_[key] = line;
  }
}

void McpRelay::refuse(const std::vector<std::string>& ids, const Failure& failure) {
  const std::string text = failure.detail + (failure.advice.empty() ? "" : ". " + failure.advice);
  for (const std::string& id : ids) {
    write(mcp_error_line(id, {-32603, "parley: " + text, failure.code}));
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
  const auto target =
      session_.empty() ? std::unexpected(Failure{}) : find_broker_as(agent_, options_);
  if (!target) {
    return;
  }
  net::Headers headers = {{"Mcp-Session-Id", session_}};
  if (!version_.empty()) {
    headers.emplace_back("MCP-Protocol-Version", version_);
  }
  const base::Duration patience = base::milliseconds(farewell_patience.count());
  auto fetch = net::Fetch::start({target->url, target->token, target->ca}, "DELETE", path, {},
                                 headers, patience);
  if (fetch) {
    pollfd wanted{fetch->fd(), POLLIN, 0};
    ::poll(&wanted, 1, static_cast<int>(farewell_patience.count()));
  }
}

int run_mcp(const std::string& agent, const ClientOptions& options) {
  // A client that goes away is an end, not a crash.
  std::signal(SIGPIPE, SIG_IGN);
  McpRelay(agent, options).run();
  return 0;
}

}  // namespace parley::app
