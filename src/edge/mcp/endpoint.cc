// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/endpoint.h"

#include <array>

#include "edge/api/context.h"
#include "edge/mcp/server.h"
#include "edge/routes/routes.h"
#include "edge/signs_of_life.h"
#include "edge/tools/parley_tools.h"

namespace parley::edge {

// What the protocol needs of the API.
class McpHost final : public mcp::Host {
 public:
  explicit McpHost(Context& context) : context_(context) {}

  void respond(const net::Exchange& exchange, net::Response response) override {
    context_.respond(exchange, std::move(response));
  }
  void start_stream(const net::Exchange& exchange, const net::Response& head) override {
    context_.metrics.answered(exchange, head.status, context_.clock.now());
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
  bool is_current(const Principal& principal) const override {
    return edge::is_current(context_.broker.machine(), principal);
  }
  void note_call(const Principal& principal) override { context_.signs_of_life->note(principal); }
  void called(std::string_view tool, Outcome outcome) override {
    constexpr std::array<std::string_view, 4> words = {"done", "failed", "refused", "cancelled"};
    context_.metrics.tool_called(tool, words[static_cast<size_t>(outcome)]);
  }

 private:
  Context& context_;
};

McpEndpoint::McpEndpoint(Api& api, Context& context, Options options)
    : host_(std::make_unique<McpHost>(context)),
      server_(std::make_unique<mcp::Server>(
          *host_, context.clock,
          mcp::Server::Options{.version = context.version,
                               .limits = options.limits,
                               .key = options.key.value_or(lib::random_key()),
                               .saved_sessions = std::move(options.saved_sessions)})) {
  context.gauges.push_back({"parley_mcp_sessions", "MCP sessions, of the older versions.",
                            [this] { return static_cast<double>(server_->sessions()); }});
  context.gauges.push_back({"parley_mcp_streams", "MCP requests and streams that are open.",
                            [this] { return static_cast<double>(server_->streams()); }});
  server_->add(mcp::parley_features(api, context.broker, *server_));
  if (options.more) {
    server_->add(options.more(*server_));
  }
}

McpEndpoint::~McpEndpoint() = default;

std::span<const Route> mcp_routes() {
  constexpr auto answer = [](Call& call) {
    call.context->mcp->on_request(call.exchange, call.request, call.caller);
  };
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/mcp",
       .handler = answer,
       .parameters = {query::text("sessionId")},
       .body = {.kind = Body::Kind::own},
       .is_stream = true},
      {.method = "GET",
       .pattern = "/mcp",
       .handler = answer,
       .body = {.kind = Body::Kind::own},
       .is_stream = true},
      {.method = "DELETE",
       .pattern = "/mcp",
       .handler = answer,
       .body = {.kind = Body::Kind::own},
       .is_stream = true},
  };
  return routes;
}

}  // namespace parley::edge
