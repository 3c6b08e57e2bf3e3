// SPDX-License-Identifier: Apache-2.0
// The endpoint /mcp of the API: joins the MCP server to the HTTP server and the broker.
#include <array>

#include "edge/api/api.h"
#include "edge/mcp/server.h"
#include "edge/tools/parley_tools.h"

namespace parley::edge {

// What the protocol needs of the API.
class McpHost final : public mcp::Host {
 public:
  explicit McpHost(Api& api) : api_(api) {}

  void respond(const net::Exchange& exchange, net::Response response) override {
    api_.respond(exchange, std::move(response));
  }
  void start_stream(const net::Exchange& exchange, const net::Response& head) override {
    api_.metrics_.answered(exchange, head.status, api_.clock_.now());
    api_.server_->start_stream(exchange, head);
  }
  void send(net::ConnectionId connection, std::string_view bytes,
            std::vector<net::Report> reports) override {
    api_.server_->send(connection, bytes, std::move(reports));
  }
  bool has_room(net::ConnectionId connection) const override {
    return api_.server_->has_room(connection);
  }
  void close(net::ConnectionId connection) override { api_.server_->close(connection, 0, {}); }
  bool is_current(const Principal& principal) const override {
    return edge::is_current(api_.broker_.machine(), principal);
  }
  void note_call(const Principal& principal) override { api_.note_call(principal); }
  void called(std::string_view tool, Outcome outcome) override {
    constexpr std::array<std::string_view, 4> words = {"done", "failed", "refused", "cancelled"};
    api_.metrics_.tool_called(tool, words[static_cast<size_t>(outcome)]);
  }

 private:
  Api& api_;
};

void Api::start_mcp() {
  mcp_host_ = std::make_unique<McpHost>(*this);
  mcp_ = std::make_unique<mcp::Server>(
      *mcp_host_, clock_,
      mcp::Server::Options{.version = options_.version,
                           .limits = options_.mcp,
                           .key = options_.mcp_key.value_or(lib::random_key()),
                           .saved_sessions = std::move(options_.mcp_sessions)});
  options_.gauges.push_back({"parley_mcp_sessions", "MCP sessions, of the older versions.",
                             [this] { return static_cast<double>(mcp_->sessions()); }});
  options_.gauges.push_back({"parley_mcp_streams", "MCP requests and streams that are open.",
                             [this] { return static_cast<double>(mcp_->streams()); }});
  mcp_->add(mcp::parley_features(*this, broker_, *mcp_));
  if (options_.mcp_more) {
    mcp_->add(options_.mcp_more(*mcp_));
  }
}

void Api::mcp(Call& call) { mcp_->on_request(call.exchange, call.request, call.caller); }

}  // namespace parley::edge
