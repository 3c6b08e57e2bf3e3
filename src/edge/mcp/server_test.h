// SPDX-License-Identifier: Apache-2.0
// Over 150 lines: a server under test, its connections and how each era writes a call.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edge/mcp/fixtures/fixtures.h"
#include "edge/mcp/server.h"

namespace parley::edge::mcp {

using Headers = std::map<std::string, std::string>;

inline const Headers legacy_headers = {{"content-type", "application/json"},
                                       {"accept", "application/json, text/event-stream"}};

// Connections that remember what they got.
class Wire final : public Host {
 public:
  void respond(const net::Exchange& exchange, net::Response response) override {
    EXPECT_TRUE(begun.insert(exchange.connection).second) << "answered twice";
    answered[exchange.connection] = std::move(response);
  }
  void start_stream(const net::Exchange& exchange, const net::Response& head) override {
    EXPECT_TRUE(begun.insert(exchange.connection).second) << "answered twice";
    answered[exchange.connection] = head;
  }
  void send(net::ConnectionId connection, std::string_view bytes,
            std::vector<net::Report> reports) override {
    EXPECT_TRUE(begun.contains(connection)) << "has no head";
    net::Response& response = answered[connection];
    response.body += bytes;
    response.reports.insert(response.reports.end(), reports.begin(), reports.end());
  }
  bool has_room(net::ConnectionId) const override { return room; }
  void close(net::ConnectionId connection) override { closed.insert(connection); }
  void later(const Principal&, std::function<void()> act) override {
    deferred.push_back(std::move(act));
  }
  bool is_current(const Principal& principal) const override {
    return !gone.contains(principal.name);
  }
  void note_call(const Principal&) override {}
  void called(std::string_view, Outcome outcome) override { outcomes.push_back(outcome); }

  std::map<net::ConnectionId, net::Response> answered;
  std::set<net::ConnectionId> begun;  // that have at least the head of an answer
  std::set<net::ConnectionId> closed;
  std::set<std::string> gone;
  std::vector<Outcome> outcomes;
  std::deque<std::function<void()>> deferred;
  bool room = true;
};

class McpServer : public testing::Test {
 public:
  explicit McpServer(const Limits& limits = {})
      : server_(wire_, clock_, {.version = "1.2.3", .limits = limits}) {
    server_.add(fixtures(server_));
    server_.add({.tools = {{.name = "wait",
                            .title = {},
                            .description = "Waits until the test says so",
                            .handler = [this](const CallContext& context) {
                              context.call.on_cancel([this] { ++cancelled_; });
                              waiting_.push_back(context.call);
                            }}}});
  }

  // Each request has a connection of its own, whose number this returns. No turn ends.
  net::ConnectionId send(std::string_view method, const Headers& headers, std::string_view body,
                         std::string_view query = {}, Server* to = nullptr) {
    net::Request request;
    request.method = method;
    request.path = "/mcp";
    request.query = query;
    request.body = body;
    request.header = [&headers](std::string_view name) {
      const auto at = headers.find(std::string(name));
      return at == headers.end() ? std::string_view{} : std::string_view(at->second);
    };
    (to != nullptr ? *to : server_).on_request({++connection_, 1}, request, caller_);
    return connection_;
  }
  net::ConnectionId ask(std::string_view method, const Headers& headers, std::string_view body,
                        std::string_view query = {}, Server* to = nullptr) {
    const net::ConnectionId connection = send(method, headers, body, query, to);
    turn();
    return connection;
  }
  net::ConnectionId post(const Headers& headers, std::string_view body, std::string_view query = {},
                         Server* to = nullptr) {
    return ask("POST", headers, body, query, to);
  }
  const net::Response& answer(net::ConnectionId connection) { return wire_.answered[connection]; }
  const std::string& text(net::ConnectionId connection) { return wire_.answered[connection].body; }
  bool is_answered(net::ConnectionId connection) { return wire_.answered.contains(connection); }
  void turn() {
    for (; !wire_.deferred.empty(); wire_.deferred.pop_front()) {
      wire_.deferred.front()();
    }
    server_.on_turn(clock_.now());
  }
  void pass(base::Duration time) {
    clock_.advance(time);
    turn();
  }

  // Begins a session; the headers of its requests.
  Headers begin(std::string_view version = "2025-11-25", std::string_view capabilities = "{}",
                Server* to = nullptr) {
    const auto at = post(legacy_headers,
                         R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{)"
                         R"("protocolVersion":")" +
                             std::string(version) + R"(","capabilities":)" +
                             std::string(capabilities) + R"(,"clientInfo":{"name":"t"}}})",
                         {}, to);
    Headers headers = legacy_headers;
    for (const auto& [name, value] : answer(at).headers) {
      if (name == "Mcp-Session-Id") {
        headers["mcp-session-id"] = value;
      }
    }
    return headers;
  }

  static std::string call(std::string_view id, std::string_view tool,
                          std::string_view more = R"("arguments":{})") {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) +
           R"(,"method":"tools/call","params":{"name":")" + std::string(tool) + "\"," +
           std::string(more) + "}}";
  }
  static Headers modern(std::string_view method, std::string_view name = {}) {
    Headers headers = legacy_headers;
    headers["mcp-protocol-version"] = "2026-07-28";
    headers["mcp-method"] = method;
    if (!name.empty()) {
      headers["mcp-name"] = name;
    }
    return headers;
  }
  static std::string meta(std::string_view capabilities = "{}") {
    return R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
           R"("io.modelcontextprotocol/clientCapabilities":)" +
           std::string(capabilities) + "}";
  }
  net::ConnectionId modern_call(std::string_view tool, std::string_view capabilities = "{}",
                                std::string_view more = R"("arguments":{})") {
    return post(modern("tools/call", tool),
                call("7", tool, std::string(more) + "," + meta(capabilities)));
  }

 protected:
  Wire wire_;
  base::ManualClock clock_{base::Time{1'000'000'000}};
  Principal caller_{.ref = 1, .name = "ana", .kind = core::PrincipalKind::agent};
  Server server_;
  net::ConnectionId connection_ = 0;
  std::vector<mcp::CallHandle> waiting_;
  int cancelled_ = 0;
};

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace parley::edge::mcp
