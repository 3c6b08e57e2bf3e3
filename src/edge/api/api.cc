// SPDX-License-Identifier: Apache-2.0
// The way of a request: host, authentication, route. And the turn of the loop.
#include "edge/api/api.h"
#include "core/agents/presence.h"

#include <algorithm>
#include <array>
#include <utility>

#include "edge/mcp/server.h"
#include "edge/push.h"
#include "edge/render.h"
#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge {

namespace {

using base::Code;

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    return host.substr(0, std::min(host.find(']') + 1, host.size()));
  }
  return host.substr(0, std::min(host.find(':'), host.size()));
}

std::string_view origin_host(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return without_port(scheme == std::string_view::npos ? origin : origin.substr(scheme + 3));
}

using Segments = std::vector<std::string_view>;

// The arguments of the path when it fits the pattern.
std::optional<std::vector<std::string>> match(const Segments& pattern, const Segments& path) {
  if (pattern.size() != path.size()) {
    return std::nullopt;
  }
  std::vector<std::string> arguments;
  for (size_t n = 0; n < path.size(); ++n) {
    if (pattern[n] == "{}") {
      auto decoded = percent_decoded(path[n], false);
      if (!decoded || decoded->empty()) {
        return std::nullopt;
      }
      arguments.push_back(std::move(*decoded));
    } else if (pattern[n] != path[n]) {
      return std::nullopt;
    }
  }
  return arguments;
}

// The patterns of the routes in segments, cut once.
const std::vector<Segments>& patterns() {
  static const std::vector<Segments> cut = [] {
    std::vector<Segments> all;
    for (const Api::Route& route : Api::routes()) {
      all.push_back(path_segments(route.pattern));
    }
    return all;
  }();
  return cut;
}

// A route that fits path and method; or the methods that the path takes.
struct Match {
  size_t route = SIZE_MAX;
  std::vector<std::string> arguments;
  std::string allowed;
};

Match find_route(const net::Request& request) {
  Match found;
  const Segments path = path_segments(request.path);
  for (size_t n = 0; n < Api::routes().size(); ++n) {
    auto arguments = match(patterns()[n], path);
    if (!arguments) {
      continue;
    }
    const Api::Route& route = Api::routes()[n];
    // Those who only look whether the broker is there may ask with HEAD.
    if (route.method == request.method || (route.open && request.method == "HEAD")) {
      found.route = n;
      found.arguments = std::move(*arguments);
      return found;
    }
    found.allowed.append(found.allowed.empty() ? "" : ", ").append(route.method);
  }
  return found;
}

// The connection of those who ask from within: the server's begin with 1.
constexpr net::ConnectionId inside_connection = 0;

std::vector<Metrics::Route> route_labels() {
  std::vector<Metrics::Route> labels;
  for (const Api::Route& route : Api::routes()) {
    labels.push_back({route.method, route.pattern});
  }
  return labels;
}

}  // namespace

const std::vector<Api::Route>& Api::routes() {
  static const std::vector<Route> table = {
      {"POST", "/v1/messages", &Api::send},
      {"GET", "/v1/messages", &Api::search},
      {"GET", "/v1/inbox", &Api::inbox},
      {"GET", "/v1/outbox", &Api::outbox},
      {"GET", "/v1/messages/{}", &Api::show_message},
      {"GET", "/v1/messages/{}/delivery", &Api::show_delivery},
      {"POST", "/v1/messages/{}/ack", &Api::ack},
      {"POST", "/v1/messages/{}/nack", &Api::nack},
      {"POST", "/v1/messages/{}/reject", &Api::reject},
      {"POST", "/v1/messages/{}/extend", &Api::extend},
      {"GET", "/v1/stream", &Api::open_events},
      {"GET", "/v1/ws", &Api::open_socket},
      {"POST", "/v1/agents", &Api::add_agent},
      {"GET", "/v1/agents", &Api::list_agents},
      {"GET", "/v1/agents/{}", &Api::show_agent},
      {"DELETE", "/v1/agents/{}", &Api::remove_agent},
      {"POST", "/v1/agents/{}/heartbeat", &Api::heartbeat},
      {"POST", "/v1/agents/{}/reset", &Api::reset_agent},
      {"POST", "/v1/humans", &Api::add_human},
      {"POST", "/v1/workspaces", &Api::add_workspace},
      {"GET", "/v1/workspaces", &Api::list_workspaces},
      {"PUT", "/v1/topics/{}/subscription", &Api::subscribe},
      {"DELETE", "/v1/topics/{}/subscription", &Api::unsubscribe},
      {"GET", "/v1/topics", &Api::list_topics},
      {"GET", "/v1/threads", &Api::list_threads},
      {"GET", "/v1/threads/{}", &Api::show_thread},
      {"POST", "/v1/threads/{}/close", &Api::close_thread},
      {"GET", "/v1/sessions", &Api::list_sessions},
      {"POST", "/v1/sessions", &Api::start_session},
      {"GET", "/v1/sessions/{}", &Api::show_session},
      {"POST", "/v1/sessions/{}/participants", &Api::add_participant},
      {"DELETE", "/v1/sessions/{}/participants/{}", &Api::remove_participant},
      {"POST", "/v1/sessions/{}/decisions", &Api::add_decision},
      {"POST", "/v1/sessions/{}/artifacts", &Api::add_artifact},
      {"POST", "/v1/sessions/{}/findings", &Api::add_finding},
      {"POST", "/v1/sessions/{}/status", &Api::set_session_status},
      {"GET", "/v1/locks", &Api::list_locks},
      {"PUT", "/v1/locks/{}", &Api::take_lock},
      {"DELETE", "/v1/locks/{}", &Api::release_lock},
      {"GET", "/v1/tasks", &Api::list_tasks},
      {"GET", "/v1/tasks/{}", &Api::show_task},
      {"POST", "/v1/tasks/{}/reassign", &Api::reassign_task},
      {"GET", "/v1/traces/{}", &Api::show_trace},
      {"GET", "/v1/dead-letters", &Api::list_dead_letters},
      {"GET", "/v1/dead-letters/{}", &Api::show_dead_letter},
      {"POST", "/v1/dead-letters/{}/retry", &Api::retry_dead_letter},
      {"POST", "/v1/dead-letters/{}/discard", &Api::discard_dead_letter},
      {"POST", "/v1/dead-letters/{}/escalate", &Api::escalate_dead_letter},
      {"POST", "/v1/scatter", &Api::scatter},
      {"GET", "/v1/scatter/{}", &Api::show_scatter},
      {"POST", "/v1/pipelines", &Api::start_pipeline},
      {"GET", "/v1/pipelines/{}", &Api::show_pipeline},
      {"GET", "/v1/escalations", &Api::list_escalations},
      {"POST", "/v1/escalations/{}/resolve", &Api::resolve_escalation},
      {"GET", "/v1/rules", &Api::show_rules},
      {"PATCH", "/v1/rules", &Api::change_rules},
      {"GET", "/v1/health", &Api::health},
      {"GET", "/metrics", &Api::show_metrics},
      {"POST", "/mcp", &Api::mcp},
      {"GET", "/mcp", &Api::mcp},
      {"DELETE", "/mcp", &Api::mcp},
      {"GET", "/openapi.json", &Api::describe, true},
      {"GET", "/livez", &Api::alive, true},
      {"GET", "/readyz", &Api::ready, true},
  };
  return table;
}

Api::Api(node::Broker& broker, base::Clock& clock, Options options)
    : broker_(broker),
      clock_(clock),
      options_(std::move(options)),
      metrics_(route_labels(), options_.version),
      started_(broker.machine().seq()),
      webhooks_(broker.machine(), waits_, options_.webhooks,
                {.now = [this] { return clock_.now(); },
                 .post = [this](std::function<void()> work) { server_->post(std::move(work)); },
                 .is_awaited =
                     [this](core::WorkspaceId workspace, core::AgentRef agent) {
                       return broker_.is_awaited(workspace, agent);
                     }}) {
  broker_.observe([this](const core::Entry& entry, const core::Outcome& outcome,
                         std::span<const core::Effect> effects) {
    note_write(entry);
    note_stale_waits(entry, outcome);
    metrics_.applied(broker_.machine(), entry, outcome, effects);
    webhooks_.applied(entry, outcome, effects);
  });
  broker_.observe_refusals([this](const core::Entry& entry, const core::Outcome& outcome) {
    metrics_.applied(broker_.machine(), entry, outcome, {});
  });
  add_gauges();
  broker_.send_outbox(&outbox_item_text);
  start_mcp();
}

Api::~Api() = default;

void Api::attach(net::Server& server) {
  server_ = &server;
  webhooks_.start();
}

// A page of another site must not reach a broker on loopback by a name that resolves to it.
bool Api::host_allowed(const net::Request& request) const {
  constexpr std::array<std::string_view, 3> loopback = {"localhost", "127.0.0.1", "[::1]"};
  const auto known = [&](std::string_view host) {
    const auto is_it = [&](std::string_view each) { return net::equal_ignoring_case(each, host); };
    return std::ranges::any_of(loopback, is_it) || std::ranges::any_of(options_.hosts, is_it);
  };
  const std::string_view origin = request.header("origin");
  return known(without_port(request.header("host"))) &&
         (origin.empty() || known(origin_host(origin)));
}

std::optional<Principal> Api::caller_of(const net::Request& request) {
  const std::string_view authorization = request.header("authorization");
  const base::Seq now = broker_.machine().seq();
  if (identified_.authorization != authorization || identified_.at.n != now.n) {
    identified_ = {std::string(authorization), now, authenticate(broker_.machine(), authorization)};
  }
  return identified_.caller || !options_.guest ? identified_.caller
                                               : options_.guest(broker_.machine(), request);
}

// What is open to everyone takes no body.
net::CallerId Api::on_head(const net::Request& head) {
  const std::optional<Principal> caller = host_allowed(head) ? caller_of(head) : std::nullopt;
  // All tokens of a principal share what may be held for it.
  return caller ? (net::CallerId{std::to_underlying(caller->workspace)} << 32 | caller->ref) + 1
                : 0;
}

void Api::on_request(const net::Exchange& exchange, const net::Request& request) {
  Match found = find_route(request);
  const Route* route = found.route < routes().size() ? &routes()[found.route] : nullptr;
  metrics_.asked(exchange, found.route, clock_.now());
  if (!host_allowed(request)) {
    refuse(exchange, Error{Code::host_refused,
                           "this broker does not answer to the name in Host or Origin; allow it "
                           "with the key `allowed_hosts`",
                           {}});
    return;
  }
  // Clients look here for how to log in before they have a token: that there is nothing is no
  // secret, and 401 would tell them to log in to find out.
  const bool is_well_known = request.path.starts_with("/.well-known/");
  std::optional<Principal> caller = Principal{};
  if (route == nullptr ? !is_well_known : !route->open) {
    caller = caller_of(request);
  }
  if (!caller) {
    refuse_token(exchange, "send `Authorization: Bearer TOKEN` with a token of this broker");
  } else if (route != nullptr) {
    if (!route->open) {
      note_call(*caller);
    }
    Call call{exchange, request, std::move(*caller), std::move(found.arguments)};
    (this->*route->handler)(call);
  } else if (found.allowed.empty()) {
    refuse(exchange,
           Error{Code::not_found, "there is nothing at this path; see /openapi.json", {}});
  } else {
    refuse(exchange, Error{Code::method_not_allowed, "this path takes " + found.allowed, {}},
           {"Allow", found.allowed});
  }
}

namespace {

// How often a call is written down as a sign of life: several times before silence would count.
Duration sign_interval(const core::Rules& rules) {
  const Duration patience = core::presence::patience(rules);
  return patience.us == 0 ? rules.collab_heartbeat
                          : Duration{std::max<int64_t>(patience.us / 4, 1)};
}

}  // namespace

// Commands speak for themselves; who only looks into its inbox would be taken for silent.
void Api::note_call(const Principal& caller) {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  const core::Agent& agent = t.agents[caller.ref];
  if (agent.kind != core::PrincipalKind::agent || !agent.streams.empty()) {
    return;
  }
  base::Time& signed_at = called_[{caller.workspace, caller.ref}];
  const base::Time now = clock_.now();
  if (std::max(signed_at, agent.seen) + sign_interval(t.rules) > now && !agent.presence.is_away()) {
    return;
  }
  signed_at = now;
  broker_.ask(caller.workspace, caller.name, core::Heartbeat{.only_seen = true},
              [](const core::Outcome&, std::span<const core::Effect>) {});
}

void Api::stay_present(const net::Exchange& exchange, const Principal& caller) {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  waits_.add(clock_.now() + sign_interval(t.rules), [this, exchange, caller] {
    if (waiting_.contains(exchange) && is_current(broker_.machine(), caller)) {
      note_call(caller);
      stay_present(exchange, caller);
    }
  });
}

void Api::refuse_token(const net::Exchange& exchange, std::string_view why) {
  refuse(exchange, Error{Code::unauthorized, std::string(why), {}}, {"WWW-Authenticate", "Bearer"});
}

bool Api::is_still_good(const net::Exchange& exchange, const Principal& caller) {
  const bool good = is_current(broker_.machine(), caller);
  if (!good) {
    refuse_token(exchange,
                 "your token is good no more: you were removed, or got another one, after you "
                 "asked; ask again with the token that you have now");
  }
  return good;
}

void Api::note_stale_waits(const core::Entry& entry, const core::Outcome& outcome) {
  if (outcome && (std::holds_alternative<core::Unregister>(entry.command) ||
                  std::holds_alternative<core::Register>(entry.command))) {
    looks_again_ = stale_from_.value_or(net::Exchange{}) != net::Exchange{};
    stale_from_ = stale_from_.value_or(net::Exchange{});
  }
}

// XD-04: whoever waits with a token that is good no more waits for nothing. Some are looked at in a
// turn: a client may have a thousand calls that wait on each of its connections. One that gets what
// it waited for before it is looked at is asked for its token then.
void Api::end_stale_waits() {
  constexpr size_t looked_at_max = 1'000;
  constexpr size_t ended_max = 100;
  if (!stale_from_) {
    return;
  }
  std::vector<net::Exchange> stale;
  size_t looked_at = 0;
  auto at = waiting_.lower_bound(*stale_from_);
  for (; at != waiting_.end() && looked_at < looked_at_max && stale.size() < ended_max; ++at) {
    ++looked_at;
    if (!is_current(broker_.machine(), at->second.caller)) {
      stale.push_back(at->first);
    }
  }
  if (at != waiting_.end()) {
    stale_from_ = at->first;
  } else {
    stale_from_ =
        std::exchange(looks_again_, false) ? std::optional(net::Exchange{}) : std::nullopt;
  }
  for (const net::Exchange& exchange : stale) {
    if (const auto waiting = waiting_.extract(exchange)) {
      waiting.mapped().undo();
      (void)is_still_good(exchange, waiting.mapped().caller);
    }
  }
}

void Api::on_message(net::ConnectionId connection, std::string_view text) {
  if (const auto at = pushes_.find(connection); at != pushes_.end()) {
    at->second->on_message(text);
  }
}

void Api::on_drained(net::ConnectionId connection) {
  if (const auto at = pushes_.find(connection); at != pushes_.end()) {
    at->second->on_drained();
  }
  mcp_->on_drained(connection);
}

void Api::on_closed(net::ConnectionId connection) {
  if (const auto at = pushes_.find(connection); at != pushes_.end()) {
    at->second->close();
    pushes_.erase(at);
  }
  metrics_.gone(connection);
  mcp_->on_closed(connection);
  // Whatever waits for an answer on this connection waits no longer.
  auto at = waiting_.lower_bound(net::Exchange{connection, 0});
  while (at != waiting_.end() && at->first.connection == connection) {
    const std::function<void()> undo = std::move(at->second.undo);
    at = waiting_.erase(at);
    undo();
  }
}

base::Time Api::on_turn() {
  const base::Time now = clock_.now();
  waits_.run(now);
  const base::Seq before = broker_.machine().seq();
  (void)broker_.step(now);  // what went wrong is in trouble(), and each asker was told
  end_stale_waits();
  const base::Time mcp_due = mcp_->on_turn(now);
  texts_.clear();
  const base::Time after = clock_.now();
  metrics_.stepped(broker_.machine().seq().n - before.n, after - now);
  return broker_.has_work(after) || stale_from_
             ? after
             : std::min({broker_.next_deadline(), waits_.next(), mcp_due});
}

void Api::on_turn_ended(const net::Turn& turn) {
  const Duration stored = broker_.stored_for();
  metrics_.turned(turn, Duration{stored.us - stored_for_.us});
  stored_for_ = stored;
}

uint64_t Api::ask_inside(const Principal& caller, const Inner& inner,
                         std::function<void(net::Response)> answered) {
  net::Request request;
  request.method = inner.method;
  request.path = inner.path;
  request.query = inner.query;
  request.body = inner.body;
  request.header = [&inner](std::string_view name) {
    for (const auto& [key, value] : inner.headers) {
      if (key == name) {
        return value;
      }
    }
    return std::string_view{};
  };
  const net::Exchange exchange{inside_connection, ++last_inside_};
  inside_[exchange.number] = std::move(answered);
  Match found = find_route(request);
  const Handler handler = found.route < routes().size() ? routes()[found.route].handler : nullptr;
  if (!is_still_good(exchange, caller)) {
    // A call of several requests: its caller was removed between two of them.
  } else if (handler == nullptr || handler == &Api::open_events || handler == &Api::open_socket ||
             handler == &Api::mcp) {
    refuse(exchange, Error{Code::not_found, "there is nothing at this path", {}});
  } else {
    Call call{exchange, request, caller, std::move(found.arguments), core::Via::mcp};
    (this->*handler)(call);
  }
  return exchange.number;
}

void Api::stop_inside(uint64_t number) {
  if (inside_.erase(number) == 0) {
    return;
  }
  if (const auto waiting = waiting_.extract(net::Exchange{inside_connection, number})) {
    waiting.mapped().undo();
  }
}

void Api::respond(const net::Exchange& exchange, net::Response response) {
  waiting_.erase(exchange);
  if (exchange.connection == inside_connection) {
    if (auto asked = inside_.extract(exchange.number)) {
      asked.mapped()(std::move(response));
    }
    return;
  }
  metrics_.answered(exchange, response.status, clock_.now());
  server_->respond(exchange, response);
}

void Api::refuse(const net::Exchange& exchange, const Error& error, const Header& header) {
  metrics_.refused(error.code);
  net::Response response = problem(error);
  if (!header.first.empty()) {
    response.headers.push_back(header);
  }
  respond(exchange, std::move(response));
}

std::string Api::problem_text(const Error& error) {
  metrics_.refused(error.code);
  return problem(error).body;
}

node::Broker::Done Api::reply_done(const net::Exchange& exchange, std::string body) {
  return [this, exchange, body = std::move(body)](const core::Outcome& outcome,
                                                  std::span<const core::Effect>) mutable {
    if (outcome) {
      respond(exchange, json_response(200, std::move(body)));
    } else {
      refuse(exchange, outcome.error());
    }
  };
}

std::expected<lib::Json, Error> Api::body_object(const Call& call) {
  auto parsed = document_.parse(call.request.body.empty() ? "{}" : call.request.body);
  if (parsed && !parsed->is_object()) {
    return std::unexpected(Error{Code::bad_request, "the body must be a JSON object", {}});
  }
  return parsed;
}

const core::Tables& Api::tables(const Call& call) const {
  return broker_.machine().find(call.caller.workspace)->tables();
}

bool Api::require(const Call& call, bool allowed, std::string_view who) {
  if (!allowed) {
    refuse(call.exchange, Error{Code::forbidden, std::string(who) + " may do this", {}});
  }
  return allowed;
}

}  // namespace parley::edge
