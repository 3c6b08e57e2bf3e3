// SPDX-License-Identifier: Apache-2.0
// The way of a request: host, authentication, route. And the turn of the loop.
#include "edge/api/api.h"

#include <algorithm>
#include <array>
#include <utility>

#include "edge/answers/outbox_text.h"
#include "edge/api/flag_waits.h"
#include "edge/api/history.h"
#include "edge/api/route.h"
#include "edge/api/submission.h"
#include "edge/api/waiting.h"
#include "edge/files/mirror.h"
#include "edge/gate.h"
#include "edge/mcp/endpoint.h"
#include "edge/mcp/server.h"
#include "edge/push.h"
#include "edge/records.h"
#include "edge/secrets/screen.h"
#include "edge/signs_of_life.h"
#include "edge/tools/tool_table.h"
#include "net/http.h"
#include "view/runner.h"

namespace parley::edge {

namespace {

using base::Code;

// The host of `host` or `host:port`; empty where it is neither, as with user information in front:
// `localhost:x@evil.example` is on evil.example.
std::string_view host_of(std::string_view authority) {
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos || authority.find('@') != std::string_view::npos) {
    return {};
  }
  const size_t colon = std::min(authority.find(':', bracket), authority.size());
  const std::string_view port = authority.substr(std::min(colon + 1, authority.size()));
  const bool is_number = port.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? authority.substr(0, colon) : std::string_view{};
}

// An origin is a scheme, a host and perhaps a port (RFC 6454, 6.2); `null` has none.
std::string_view host_of_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) {
      return host_of(origin.substr(scheme.size()));
    }
  }
  return {};
}

bool may_use(Who who, const Principal& caller) {
  switch (who) {
    case Who::anyone:
    case Who::signer:
    case Who::principal:
    case Who::machine:
      return true;
    case Who::maintainer:
      return caller.is_maintainer();
    case Who::admin:
      return caller.is_admin();
    case Who::overseer:
      return oversees_broker(caller);
  }
  return false;
}

// Whether the token says who asks.
bool needs_token(Who who) { return who != Who::anyone && who != Who::signer; }

std::string_view words_for(Who who) {
  switch (who) {
    case Who::anyone:
    case Who::signer:
    case Who::principal:
    case Who::machine:
      return "everyone";
    case Who::maintainer:
      return "only a maintainer or an admin";
    case Who::admin:
      return "only an admin";
    case Who::overseer:
      return "only a maintainer or an admin of the first workspace";
  }
  return {};
}

// What is asked for by this call, as far as it may be stored: its body, as the policy lets it pass,
// and the names in its path.
std::expected<Screened, Error> screened_body(Call& call, lib::Json body) {
  const core::SecretsPolicy policy = core::secrets_policy(call.tables().rules, call.caller.dialect);
  if (call.route.method == "PUT" || call.route.method == "POST") {
    for (const std::string& name : call.arguments) {
      if (const auto good = screen_name(name, policy); !good) {
        return std::unexpected(good.error());
      }
    }
  }
  // A name that is redacted would be another's, too.
  for (const std::string_view member : {"id", "message_id"}) {
    if (const auto name = body.find(member).as_string()) {
      if (const auto good = screen_name(*name, policy); !good) {
        return std::unexpected(Error{good.error().code, good.error().detail,
                                     "/" + std::string(member)});
      }
    }
  }
  return call.route.body.may_have_secrets ? Screened{.value = body}
                                          : screened(body, policy, call.allowance.looks);
}

// Lets the handler have the call, if it is one that the route takes.
void handle(Call& call) {
  const Route& route = call.route;
  if (!may_use(route.who, call.caller)) {
    call.refuse(Error{Code::forbidden, std::string(words_for(route.who)) + " may do this", {}});
    return;
  }
  const auto refuse = [&](const Error& error) {
    route.body.has_message ? refuse_message(call, error) : call.refuse(error);
  };
  auto query = read_query(route, call.request.query);
  if (!query) {
    refuse(query.error());
    return;
  }
  call.query = std::move(*query);
  if (route.body.kind == Body::Kind::own) {
    route.handler(call);
    return;
  }
  const auto body = read_body(route, call.request.body, call.context->document);
  if (!body) {
    refuse(body.error());
    return;
  }
  if (route.who == Who::anyone || route.method == "GET") {
    call.body = *body;
    route.handler(call);
    return;
  }
  const auto passed = screened_body(call, *body);
  if (!passed) {
    refuse(passed.error());
    return;
  }
  call.body = passed->value;
  route.handler(call);
}

}  // namespace

Api::Api(node::Broker& broker, base::Clock& clock, Options options)
    : options_(std::move(options)),
      context_(broker, clock,
               {.version = options_.version,
                .view = options_.view,
                .questions_per_principal_max = options_.questions_per_principal_max,
                .gauges = std::move(options_.gauges)}),
      webhooks_(
          broker.machine(), context_.waits, options_.webhooks,
          {.now = [this] { return context_.clock.now(); },
           .post = [this](std::function<void()> work) { context_.server->post(std::move(work)); },
           .is_awaited =
               [this](core::WorkspaceId workspace, core::AgentRef agent) {
                 return context_.broker.waiters().is_awaited(workspace, agent);
               }}),
      github_(options_.events),
      scheduler_(context_, options_.events),
      notifier_(
          broker.machine(), context_.waits, std::move(options_.notify),
          {.now = [this] { return context_.clock.now(); },
           .post = [this](std::function<void()> work) { context_.server->post(std::move(work)); },
           .warm =
               [this](base::Seq seq, std::function<void()> done) {
                 context_.broker.records().warm({seq}, std::move(done));
               },
           .subject =
               [this](base::Seq seq) {
                 const auto envelope = envelope_at(context_.broker, core::workspace_first, seq);
                 return std::string(envelope ? envelope->subject : std::string_view{});
               }}),
      files_(std::make_unique<files::Mirror>(context_, options_.files)) {
  context_.webhooks = &webhooks_;
  context_.github = &github_;
  broker.observe([this](const core::Entry& entry, const core::Outcome& outcome,
                        std::span<const core::Effect> effects) {
    context_.history->applied(entry);
    context_.waiting->applied(entry, outcome);
    context_.flag_waits->applied(entry, outcome);
    context_.metrics.messages.applied(context_.broker.machine(), entry, outcome, effects);
    webhooks_.applied(entry, outcome, effects);
    notifier_.applied();
    files_->applied(entry, outcome, effects);
  });
  broker.observe_refusals([this](const core::Entry& entry, const core::Outcome& outcome) {
    context_.metrics.messages.applied(context_.broker.machine(), entry, outcome, {});
  });
  add_gauges();
  broker.send_outbox(&outbox_item_text);
  mcp_ = std::make_unique<mcp::Endpoint>(
      context_, mcp::Endpoint::Options{.limits = options_.mcp,
                                       .key = options_.mcp_key,
                                       .saved_sessions = std::move(options_.mcp_sessions)});
  context_.mcp = &mcp_->server();
  context_.mcp->add(tools::parley_features(*this, broker, *context_.mcp));
  if (options_.mcp_more) {
    context_.mcp->add(options_.mcp_more(*context_.mcp));
  }
}

Api::~Api() = default;

void Api::attach(net::Server& server) {
  context_.server = &server;
  webhooks_.start();
  scheduler_.start();
  notifier_.start();
  files_->start();
}

// A page of another site must not reach a broker on loopback by a name that resolves to it.
bool Api::host_allowed(const net::Request& request) const {
  constexpr std::array<std::string_view, 3> loopback = {"localhost", "127.0.0.1", "[::1]"};
  const auto known = [&](std::string_view host) {
    const auto is_it = [&](std::string_view each) { return net::equal_ignoring_case(each, host); };
    return std::ranges::any_of(loopback, is_it) || std::ranges::any_of(options_.hosts, is_it);
  };
  const std::string_view origin = request.header("origin");
  return known(host_of(request.header("host"))) &&
         (origin.empty() || known(host_of_origin(origin)));
}

std::optional<Principal> Api::caller_of(const net::Request& request) {
  const std::string_view authorization = request.header("authorization");
  const base::Seq now = context_.broker.machine().seq();
  if (identified_.authorization != authorization || identified_.at.n != now.n) {
    identified_ = {std::string(authorization), now,
                   authenticate(context_.broker.machine(), authorization)};
  }
  return identified_.caller || !options_.guest ? identified_.caller
                                               : options_.guest(context_.broker.machine(), request);
}

// 0 makes the server drop the body. That is right for routes that need no token as well: none of
// them takes a body, which a test of the routes holds them to, but for the hook, whose senders are
// one caller.
net::CallerId Api::on_head(const net::Request& head) {
  if (github_.takes(head) && host_allowed(head)) {
    return events::GithubHook::caller;
  }
  const std::optional<Principal> caller = host_allowed(head) ? caller_of(head) : std::nullopt;
  return caller ? caller_id(*caller) : 0;
}

void Api::on_request(const net::Exchange& exchange, const net::Request& request) {
  Match found = find_route(request);
  const Route* const route = found.route;
  context_.metrics.requests.asked(exchange, found.number, context_.clock.now());
  if (!host_allowed(request)) {
    context_.refuse(exchange,
                    Error{Code::host_refused,
                          "this broker does not answer to the name in Host or Origin; allow it "
                          "with the key `allowed_hosts`",
                          {}});
    return;
  }
  // Clients look here for how to log in before they have a token: that there is nothing is no
  // secret, and 401 would tell them to log in to find out.
  const bool is_well_known = request.path.starts_with("/.well-known/");
  std::optional<Principal> caller = Principal{};
  if (route == nullptr ? !is_well_known : needs_token(route->who)) {
    caller = caller_of(request);
  }
  if (!caller) {
    context_.refuse_token(exchange, token_wanted);
  } else if (route != nullptr) {
    if (needs_token(route->who)) {
      context_.signs_of_life->note(*caller);
    }
    Call call{
        {&context_, exchange, std::move(*caller)}, request, *route, std::move(found.arguments)};
    handle(call);
  } else if (found.allowed.empty()) {
    context_.refuse(exchange,
                    Error{Code::not_found, "there is nothing at this path; see /openapi.json", {}});
  } else {
    context_.refuse(exchange,
                    Error{Code::method_not_allowed, "this path takes " + found.allowed, {}},
                    {.headers = {{"Allow", found.allowed}}});
  }
}

void Api::on_message(net::ConnectionId connection, std::string_view text) {
  context_.pushes->on_message(connection, text);
}

void Api::on_drained(net::ConnectionId connection) {
  context_.pushes->on_drained(connection);
  mcp_->server().on_drained(connection);
}

void Api::on_closed(net::ConnectionId connection) {
  context_.pushes->on_closed(connection);
  context_.metrics.requests.gone(connection);
  mcp_->server().on_closed(connection);
  context_.waiting->hang_up_all(connection);
}

base::Time Api::on_turn() {
  const base::Time now = context_.clock.now();
  context_.waits.run(now);
  const base::Seq before = context_.broker.machine().seq();
  (void)context_.broker.step(now);  // what went wrong is in trouble(), and each asker was told
  context_.waiting->end_stale();
  do_deferred();
  const base::Time mcp_due = mcp_->server().on_turn(now);
  context_.texts.clear();
  const base::Time after = context_.clock.now();
  context_.metrics.loop.stepped(context_.broker.machine().seq().n - before.n, after - now);
  return context_.broker.has_work(after) || context_.waiting->is_looking() ||
                 !context_.deferred.empty()
             ? after
             : std::min({context_.broker.next_deadline(), context_.waits.next(), mcp_due});
}

void Api::do_deferred() {
  constexpr size_t done_max = 256;
  constexpr Duration time_max = base::milliseconds(1);
  const base::Time began = context_.clock.now();
  for (size_t done = 0; done < done_max && !context_.deferred.empty(); ++done) {
    context_.deferred.pop()();
    if (context_.clock.now() - began > time_max) {
      return;
    }
  }
}

void Api::on_turn_ended(const net::Turn& turn) {
  const Duration stored = context_.broker.node().stored_for();
  context_.metrics.loop.turned(turn, Duration{stored.us - stored_for_.us});
  stored_for_ = stored;
}

uint64_t Api::ask_inside(const Principal& caller, const InsideRequest& inside,
                         InsideCalls::Answered answered) {
  net::Request request;
  request.method = inside.method;
  request.path = inside.path;
  request.query = inside.query;
  request.body = inside.body;
  request.header = [&inside](std::string_view name) { return inside.header(name); };
  const net::Exchange exchange = context_.inside.add(std::move(answered));
  const Asker asker{&context_, exchange, caller};
  // A call of MCP may ask several times, and its caller may be removed between two of them.
  if (asker.refuse_if_stale()) {
    return exchange.number;
  }
  Match found = find_route(request);
  if (found.route == nullptr || found.route->is_stream) {
    asker.refuse(Error{Code::not_found, "there is nothing at this path", {}});
  } else {
    Call call{asker, request, *found.route, std::move(found.arguments), core::Via::mcp};
    handle(call);
  }
  return exchange.number;
}

void Api::stop_inside(uint64_t number) {
  if (context_.inside.forget(number)) {
    context_.waiting->hang_up({InsideCalls::connection, number});
  }
}

// What only the parts around this know.
void Api::add_gauges() {
  const auto add = [this](std::string name, std::string help, std::function<double()> value) {
    context_.gauges.push_back({std::move(name), std::move(help), std::move(value)});
  };
  add("parley_connections", "Open connections.",
      [this] { return static_cast<double>(context_.server->connections()); });
  add("parley_calls_waiting", "Calls that wait for mail, an answer or a lock.",
      [this] { return static_cast<double>(context_.waiting->size()); });
  add("parley_storage_trouble", "1 while commands are refused because storage fails.",
      [this] { return context_.broker.node().trouble() ? 1.0 : 0.0; });
  add("parley_snapshot_trouble", "1 while the newest snapshot could not be stored.",
      [this] { return context_.broker.node().warnings().snapshot ? 1.0 : 0.0; });
  add("parley_records_read_by_loop_total", "Records that the loop itself read from the disk.",
      [this] { return static_cast<double>(context_.broker.records().cold_reads()); });
  add("parley_records_read_behind_total", "Records that a thread beside the loop read for it.",
      [this] { return static_cast<double>(context_.broker.records().warmed()); });
  add("parley_webhook_sent_total", "Agents told of mail by their webhooks.",
      [this] { return static_cast<double>(webhooks_.sent()); });
  add("parley_webhook_failures_total", "Requests to webhooks that were not taken.",
      [this] { return static_cast<double>(webhooks_.failures()); });
  add("parley_webhooks_disabled", "Webhooks that failed so often that they rest.",
      [this] { return static_cast<double>(webhooks_.disabled()); });
  add("parley_notifications_sent_total", "Escalations and approvals that [[notify]] has told.",
      [this] { return static_cast<double>(notifier_.sent()); });
  add("parley_notification_failures_total", "Requests of [[notify]] that were not taken.",
      [this] { return static_cast<double>(notifier_.failures()); });
  add("parley_notifications_dropped_total", "Those that were too many for their target.",
      [this] { return static_cast<double>(notifier_.dropped()); });
  if (context_.view == nullptr) {
    return;
  }
  view::Feed& feed = context_.view->feed();
  add("parley_history_seq", "The newest entry in the history.",
      [&feed] { return static_cast<double>(feed.position().n); });
  add("parley_history_lag_entries", "Entries that are not in the history yet.",
      [&feed] { return static_cast<double>(feed.lag().entries); });
  add("parley_history_lag_bytes", "Bytes of messages that are not in the history yet.",
      [&feed] { return static_cast<double>(feed.lag().bytes); });
  add("parley_history_trouble", "1 while the history cannot be written.",
      [&feed] { return feed.trouble() ? 1.0 : 0.0; });
}

}  // namespace parley::edge
