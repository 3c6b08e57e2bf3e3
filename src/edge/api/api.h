// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edge/api/context.h"
#include "edge/events/hook.h"
#include "edge/events/scheduler.h"
#include "edge/files/options.h"
#include "edge/mcp/limits.h"
#include "edge/mcp/tables/saved_sessions.h"
#include "edge/notify/notifier.h"
#include "edge/webhooks/webhooks.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace files {
class Mirror;
}
namespace mcp {
class Endpoint;
struct Features;
}  // namespace mcp

// The public interface over HTTP, server-sent events and WebSocket: authenticates, finds the route,
// and lets its handler ask the broker and answer. Runs on the server's thread; each turn of the
// loop is one step of the node.
class Api final : public net::Handler {
 public:
  struct Options {
    std::string version;
    std::vector<std::string> hosts;  // besides loopback names; what `Host` and `Origin` may name
    view::Runner* view = nullptr;    // null: old messages cannot be found
    size_t questions_per_principal_max = 64;  // to the history, without an answer
    std::vector<Gauge> gauges;                // for /metrics, beside what is known here
    mcp::Limits mcp{};
    std::optional<lib::SecretKey> mcp_key{};             // none: MCP sessions end with the process
    std::unique_ptr<mcp::SavedSessions> mcp_sessions{};  // null: also what they leave behind does
    // What a program of the tests adds; nothing in the one that is released. First: what is offered
    // at /mcp beside Parley's tools. Second: who asks without a token, if anyone may.
    std::function<mcp::Features(mcp::Server&)> mcp_more{};
    std::function<std::optional<Principal>(const core::Machine&, const net::Request&)> guest{};
    Webhooks::Options webhooks{};
    events::Options events{};
    files::Options files{};
    notify::Notifier::Options notify{};
  };

  Api(node::Broker& broker, base::Clock& clock, Options options);
  ~Api() override;

  // Must be called before the server runs.
  void attach(net::Server& server);

  net::CallerId on_head(const net::Request& head) override;
  void on_request(const net::Exchange& exchange, const net::Request& request) override;
  void on_message(net::ConnectionId connection, std::string_view text) override;
  void on_closed(net::ConnectionId connection) override;
  void on_drained(net::ConnectionId connection) override;
  base::Time on_turn() override;
  bool is_behind() const override { return context_.broker.node().is_behind(); }
  void on_turn_ended(const net::Turn& turn) override;
  net::Response problem(const Error& error) override { return context_.counted_problem(error); }

  // Asks from within what a request over HTTP asks: the same checks, the same answer. Not for
  // streams. `answered` hears the answer once, perhaps before this returns. The texts are not kept.
  uint64_t ask_inside(const Principal& caller, const InsideRequest& inside,
                      InsideCalls::Answered answered);
  // True until it is answered.
  bool is_asked_inside(uint64_t number) const { return context_.inside.contains(number); }
  // Whoever asked waits no longer, as one who hangs up; does nothing once it is answered.
  void stop_inside(uint64_t number);

 private:
  bool host_allowed(const net::Request& request) const;
  // By its token; none when it has none that is good.
  std::optional<Principal> caller_of(const net::Request& request);
  void add_gauges();
  // Some of what calls have left to a later turn.
  void do_deferred();

  Options options_;
  Context context_;
  Webhooks webhooks_;
  events::GithubHook github_;
  events::Scheduler scheduler_;
  notify::Notifier notifier_;
  std::unique_ptr<files::Mirror> files_;
  std::unique_ptr<mcp::Endpoint> mcp_;
  Duration stored_for_{};  // by the journal, up to the last turn
  // The newest that was looked up: the head of a request asks, then the request.
  struct Identified {
    std::string authorization;
    base::Seq at;
    std::optional<Principal> caller;
  };
  Identified identified_;
};

}  // namespace parley::edge
