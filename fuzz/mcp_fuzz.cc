// SPDX-License-Identifier: Apache-2.0
// Any messages to the MCP server: never a crash, and each request over HTTP is answered once at
// most. Each line is the body of a request; its first byte chooses the headers, which transport it
// is of and who hangs up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "edge/mcp/fixtures/fixtures.h"
#include "edge/mcp/server.h"

namespace parley {
namespace {

using edge::Principal;

class Wire final : public edge::mcp::Host {
 public:
  void respond(const net::Exchange& exchange, net::Response response) override {
    CHECK(!answered[exchange.connection]);
    answered[exchange.connection] = true;
    for (const auto& [name, value] : response.headers) {
      session = name == "Mcp-Session-Id" ? value : session;
    }
  }
  void start_stream(const net::Exchange& exchange, const net::Response&) override {
    CHECK(!answered[exchange.connection]);
    answered[exchange.connection] = true;
  }
  void send(net::ConnectionId connection, std::string_view bytes,
            std::vector<net::Report>) override {
    CHECK(answered[connection]);
    const auto behind = [&](std::string_view key, char last, std::string& found) {
      if (const size_t at = bytes.find(key); at != std::string_view::npos) {
        const std::string_view rest = bytes.substr(at + key.size());
        found = rest.substr(0, std::min(rest.find(last), rest.size()));
      }
    };
    behind("id: ", '\n', event);
    behind("?", '\n', query);
  }
  bool has_room(net::ConnectionId) const override { return true; }
  void close(net::ConnectionId) override {}
  void later(const Principal&, std::function<void()> act) override { act(); }
  bool is_current(const Principal&) const override { return true; }
  void note_call(const Principal&) override {}
  void called(std::string_view, Outcome) override {}

  std::map<net::ConnectionId, bool> answered;
  std::string session;
  std::string event;  // the last id of one
  std::string query;  // of the old transport
};

void run(std::string_view text) {
  Wire wire;
  base::ManualClock clock{base::Time{1'000'000}};
  edge::mcp::Server server(wire, clock, {.version = "0", .limits = {.sessions_max = 4}});
  server.add(edge::mcp::fixtures(server));
  const Principal caller{.ref = 1, .name = "ana"};
  net::ConnectionId connection = 0;
  while (!text.empty() && connection < 64) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto choice = static_cast<uint8_t>(line.empty() ? 0 : line.front());
    const std::string query = wire.query;
    const std::string_view old = std::string_view(query).substr(query.find('=') + 1);
    net::Request request;
    request.method = (choice & 7) == 7 ? "GET" : (choice & 7) == 6 ? "DELETE" : "POST";
    request.path = "/mcp";
    request.body = line.substr(line.empty() ? 0 : 1);
    request.header = [&](std::string_view name) -> std::string_view {
      if (name == "content-type") {
        return "application/json";
      }
      if (name == "accept") {
        return "application/json, text/event-stream";
      }
      if ((choice & 64) == 0) {
        // The old transport has no headers of its own; or they name its session all the same.
        return (choice & 8) == 0                               ? ""
               : name == "mcp-session-id"                      ? old
               : name == "last-event-id" && (choice & 32) != 0 ? std::string_view(wire.event)
                                                               : "";
      }
      if ((choice & 8) != 0) {
        return name == "mcp-protocol-version" ? "2026-07-28"
               : name == "mcp-method"         ? "tools/call"
               : name == "mcp-name"           ? "test_input_required_result_multi_round"
                                              : "";
      }
      return name == "mcp-session-id"                        ? std::string_view(wire.session)
             : name == "last-event-id" && (choice & 32) != 0 ? std::string_view(wire.event)
                                                             : "";
    };
    request.query = (choice & 64) == 0 ? std::string_view(query) : std::string_view();
    server.on_request({++connection, 1}, request, caller);
    clock.advance(base::milliseconds(100));
    server.on_turn(clock.now());
    if ((choice & 16) != 0) {
      server.on_closed(connection);
    }
  }
  clock.advance(base::hours(2));
  server.on_turn(clock.now());
}

}  // namespace
}  // namespace parley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  parley::run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
