// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fair_queue.h"
#include "base/time.h"
#include "dialect/dialect.h"
#include "edge/api/call.h"
#include "edge/api/inside.h"
#include "edge/telemetry/metrics.h"
#include "edge/waits.h"
#include "lib/json.h"
#include "net/server.h"
#include "node/broker.h"

namespace parley::view {
class Runner;
}

namespace parley::edge {

namespace events {
class GithubHook;
}
namespace mcp {
class Server;
}
class BlockedCalls;
struct FlagLine;
class FlagWaits;
class History;
class Listings;
class MailWaits;
class Pushes;
class SignsOfLife;
class Submissions;
class WaitingCalls;
class Webhooks;

// What the handlers of the API share: the broker, how a request is answered, and the parts that
// keep something between two requests. Api owns it, and it is there as long as the server runs. On
// the server's thread.
class Context {
 public:
  struct Options {
    std::string version;
    view::Runner* view = nullptr;  // null: old messages cannot be found
    size_t questions_per_principal_max = 64;
    std::vector<Gauge> gauges;
  };
  Context(node::Broker& broker, base::Clock& clock, Options options);
  ~Context();

  // Answers a request, once; one whose client is gone as well.
  void respond(const net::Exchange& exchange, net::Response response);
  // Answers with an error, and counts it for /metrics. What is no answer of its own, but a part of
  // one, is the body of a `counted_problem`; so is what the server itself refuses. Errors of MCP
  // have codes of JSON-RPC, and are counted by the status of their answers alone.
  void refuse(const net::Exchange& exchange, const Error& error, const ProblemExtras& extras = {});
  net::Response counted_problem(const Error& error, const ProblemExtras& extras = {});
  void refuse_token(const net::Exchange& exchange, std::string_view why);
  // For a call whose token was valid when it came.
  void refuse_stale(const net::Exchange& exchange);

  // Asks the broker in the caller's name. Without `done` nobody waits for the outcome.
  void ask(const Principal& caller, core::Command command, node::Broker::Done done);
  void ask(const Principal& caller, core::Command command);

  const core::Tables& tables(core::WorkspaceId workspace) const;

  node::Broker& broker;
  base::Clock& clock;
  view::Runner* const view;
  const std::string version;
  net::Server* server = nullptr;  // there when the first request comes
  Metrics metrics;
  std::vector<Gauge> gauges;  // for /metrics, beside what is known there
  Waits waits;
  // What calls have still to do, by caller (`caller_id`), where much may be due at once. Each turn
  // does some of it.
  base::FairQueue<std::function<void()>> deferred;
  lib::JsonDocument document;  // the body of the request that is handled now
  dialect::Texts texts;        // what commands refer to until the end of the turn
  InsideCalls inside;
  // Principals whose removal was asked for and is not told yet.
  std::multiset<std::pair<core::WorkspaceId, std::string>> removing;
  const std::unique_ptr<SignsOfLife> signs_of_life;
  const std::unique_ptr<WaitingCalls> waiting;
  const std::unique_ptr<BlockedCalls> blocked;
  const std::unique_ptr<Listings> listings;
  const std::unique_ptr<MailWaits> mail_waits;
  const std::unique_ptr<FlagLine> flags;  // private ones that wait for their turn
  const std::unique_ptr<FlagWaits> flag_waits;
  const std::unique_ptr<Submissions> submissions;
  const std::unique_ptr<History> history;
  const std::unique_ptr<Pushes> pushes;
  Webhooks* webhooks = nullptr;  // these three are Api's
  mcp::Server* mcp = nullptr;
  events::GithubHook* github = nullptr;
};

}  // namespace parley::edge
