// SPDX-License-Identifier: Apache-2.0
#include "edge/api/context.h"

#include "edge/answers/problem.h"
#include "edge/api/blocked.h"
#include "edge/api/flag_waits.h"
#include "edge/api/history.h"
#include "edge/api/listing.h"
#include "edge/api/mail_waits.h"
#include "edge/api/route.h"
#include "edge/api/submission.h"
#include "edge/api/waiting.h"
#include "edge/private_flags.h"
#include "edge/push.h"
#include "edge/signs_of_life.h"

namespace parley::edge {

namespace {

using base::Code;

std::vector<RequestMetrics::Route> route_labels() {
  std::vector<RequestMetrics::Route> labels;
  for (const Route& route : all_routes()) {
    labels.push_back({route.method, route.pattern});
  }
  return labels;
}

}  // namespace

Context::Context(node::Broker& broker_used, base::Clock& clock_used, Options options)
    : broker(broker_used),
      clock(clock_used),
      view(options.view),
      version(std::move(options.version)),
      metrics(route_labels(), version),
      gauges(std::move(options.gauges)),
      signs_of_life(std::make_unique<SignsOfLife>(*this)),
      waiting(std::make_unique<WaitingCalls>(*this)),
      blocked(std::make_unique<BlockedCalls>(*this)),
      listings(std::make_unique<Listings>(*this)),
      mail_waits(std::make_unique<MailWaits>(*this)),
      flags(std::make_unique<FlagLine>()),
      flag_waits(std::make_unique<FlagWaits>(*this)),
      submissions(std::make_unique<Submissions>(*this)),
      history(std::make_unique<History>(*this, options.questions_per_principal_max)),
      pushes(std::make_unique<Pushes>(*this)) {}

Context::~Context() = default;

void Context::respond(const net::Exchange& exchange, net::Response response) {
  waiting->remove(exchange);
  if (exchange.connection == InsideCalls::connection) {
    inside.answer(exchange.number, {.response = std::move(response)});
    return;
  }
  metrics.requests.answered(exchange, response.status, clock.now());
  server->respond(exchange, response);
}

void Context::refuse(const net::Exchange& exchange, const Error& error,
                     const ProblemExtras& extras) {
  net::Response response = counted_problem(error, extras);
  if (exchange.connection == InsideCalls::connection) {
    waiting->remove(exchange);
    inside.answer(exchange.number, {.response = std::move(response), .error = error});
    return;
  }
  respond(exchange, std::move(response));
}

net::Response Context::counted_problem(const Error& error, const ProblemExtras& extras) {
  metrics.requests.refused(error.code);
  return problem(error, extras);
}

void Context::refuse_token(const net::Exchange& exchange, std::string_view why) {
  refuse(exchange, Error{Code::unauthorized, std::string(why), {}},
         {.headers = {{"WWW-Authenticate", "Bearer"}}});
}

void Context::refuse_stale(const net::Exchange& exchange) {
  refuse_token(exchange,
               "your token is good no more, or not for as much: you were removed, got another one, "
               "or lost a right after you asked; ask again with the token that you have now");
}

void Context::ask(const Principal& caller, core::Command command, node::Broker::Done done) {
  broker.ask(caller.workspace, caller.name, std::move(command), std::move(done));
}

void Context::ask(const Principal& caller, core::Command command) {
  ask(caller, std::move(command), [](const core::Outcome&, std::span<const core::Effect>) {});
}

const core::Tables& Context::tables(core::WorkspaceId workspace) const {
  return broker.machine().find(workspace)->tables();
}

}  // namespace parley::edge
