// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/endpoint.h"

#include <array>
#include <utility>

#include "edge/api/context.h"
#include "edge/mcp/server.h"
#include "edge/signs_of_life.h"

namespace parley::edge::mcp {

namespace {

// What the protocol needs of the API.
class ApiHost final : public Host {
 public:
  explicit ApiHost(Context& context) : context_(context) {}

  void respond(const net::Exchange& exchange, net::Response response) override {
    context_.respond(exchange, std::move(response));
  }
  void start_stream(const net::Exchange& exchange, const net::Response& head) override {
    context_.metrics.requests.answered(exchange, head.status, context_.clock.now());
    context_.server->start_stream(exchange, head);
  }
  void send(net::ConnectionId connection, std::string_view bytes,
            std::vector<net::Report> reports) override {
    context_.server->send(connection, bytes, std::move(reports));
  }
  bool has_room(net::ConnectionId connection) const override {
    return context_.server->has_room(connection);
  }
  void close(net::ConnectionId connection) override { context_.server->close(connection, 0, {}); }
  void later(const Principal& principal, std::function<void()> act) override {
    context_.deferred.push(caller_id(principal), std::move(act));
  }
  bool is_current(const Principal& principal) const override {
    return edge::is_current(context_.broker.machine(), principal);
  }
  void note_call(const Principal& principal) override { context_.signs_of_life->note(principal); }
  void called(std::string_view tool, Outcome outcome) override {
    constexpr std::array<std::string_view, 4> words = {"done", "failed", "refused", "cancelled"};
    context_.metrics.requests.tool_called(tool, words[static_cast<size_t>(outcome)]);
  }

 private:
  Context& context_;
};

}  // namespace

Endpoint::Endpoint(Context& context, Options options)
    : host_(std::make_unique<ApiHost>(context)),
      server_(std::make_unique<Server>(
          *host_, context.clock,
          Server::Options{.version = context.version,
                          .limits = options.limits,
                          .key = options.key.value_or(lib::random_key()),
                          .saved_sessions = std::move(options.saved_sessions)})) {
  context.gauges.push_back({"parley_mcp_sessions", "MCP sessions, of the older versions.",
                            [this] { return static_cast<double>(server_->sessions()); }});
  context.gauges.push_back({"parley_mcp_streams", "MCP requests and streams that are open.",
                            [this] { return static_cast<double>(server_->streams()); }});
  context.gauges.push_back({"parley_mcp_held_bytes", "Bytes of MCP calls that are not answered.",
                            [this] { return static_cast<double>(server_->held_bytes()); }});
}

Endpoint::~Endpoint() = default;

}  // namespace parley::edge::mcp
