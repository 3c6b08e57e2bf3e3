// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/server.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "edge/mcp/fixtures.h"

namespace parley::edge::mcp {
namespace {

using Headers = std::map<std::string, std::string>;

const Headers legacy_headers = {{"content-type", "application/json"},
                                {"accept", "application/json, text/event-stream"}};

// Connections that remember what they got.
class Wire final : public Host {
 public:
  void respond(const net::Exchange& exchange, net::Response response) override {
    answered[exchange.connection] = std::move(response);
  }
  void start_stream(const net::Exchange& exchange, const net::Response& head) override {
    answered[exchange.connection] = head;
  }
  void send(net::ConnectionId connection, std::string_view bytes) override {
    answered[connection].body += bytes;
  }
  bool has_room(net::ConnectionId) const override { return room; }
  void close(net::ConnectionId connection) override { closed.insert(connection); }
  bool is_current(const Principal& principal) const override {
    return !gone.contains(principal.name);
  }
  void note_call(const Principal&) override {}
  void called(std::string_view, Outcome) override {}

  std::map<net::ConnectionId, net::Response> answered;
  std::set<net::ConnectionId> closed;
  std::set<std::string> gone;
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
                            .act = [this](const Ask& ask) {
                              ask.run.on_cancel([this] { ++cancelled_; });
                              waiting_.push_back(ask.run);
                            }}}});
  }

  // Each request has a connection of its own, whose number this returns.
  net::ConnectionId ask(std::string_view method, const Headers& headers, std::string_view body,
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
    turn();
    return connection_;
  }
  net::ConnectionId post(const Headers& headers, std::string_view body, std::string_view query = {},
                         Server* to = nullptr) {
    return ask("POST", headers, body, query, to);
  }
  const net::Response& answer(net::ConnectionId connection) { return wire_.answered[connection]; }
  const std::string& text(net::ConnectionId connection) { return wire_.answered[connection].body; }
  bool is_answered(net::ConnectionId connection) { return wire_.answered.contains(connection); }
  void turn() { server_.on_turn(clock_.now()); }
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
  std::vector<mcp::Run> waiting_;
  int cancelled_ = 0;
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// The string behind `"key":"` in a text.
std::string value_of(std::string_view text, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\":\"";
  const size_t at = text.find(quoted) + quoted.size();
  return std::string(text.substr(at, text.find('"', at) - at));
}

TEST_F(McpServer, InitializeGivesTheVersionThatWasAskedFor) {
  for (const std::string_view version :
       {"2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    begin(version);
    EXPECT_TRUE(has(text(connection_), R"("protocolVersion":")" + std::string(version)));
  }
  for (const std::string_view version : {"2026-07-28", "2099-01-01", "nonsense"}) {
    begin(version);
    EXPECT_TRUE(has(text(connection_), R"("protocolVersion":"2025-11-25")")) << version;
  }
}

TEST_F(McpServer, ARequestIsOfTheEraThatItNames) {
  const auto old = post(begin(), R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})");
  EXPECT_FALSE(has(text(old), "resultType"));
  const auto now =
      post(modern("tools/list"),
           R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{)" + meta() + "}}");
  EXPECT_EQ(answer(now).status, 200);
  EXPECT_TRUE(has(text(now), R"("resultType":"complete")"));
  EXPECT_TRUE(has(text(now), R"("ttlMs":300000,"cacheScope":"public")"));
  // Only the header says so: it is told what is missing.
  const auto bare =
      post(modern("tools/list"), R"({"jsonrpc":"2.0","id":"x","method":"tools/list"})");
  EXPECT_EQ(answer(bare).status, 400);
  EXPECT_TRUE(has(text(bare), R"("id":"x","error":{"code":-32602)"));
}

TEST_F(McpServer, WithoutASessionTheLegacyEraIsRefused) {
  EXPECT_EQ(answer(post(legacy_headers, R"({"jsonrpc":"2.0","id":2,"method":"ping"})")).status,
            400);
  Headers headers = legacy_headers;
  headers["mcp-session-id"] = "2f1a7a86-0b5e-4e3c-8d6e-000000000000";
  EXPECT_EQ(answer(post(headers, R"({"jsonrpc":"2.0","id":2,"method":"ping"})")).status, 404);
}

TEST_F(McpServer, AnothersSessionIsNone) {
  const Headers session = begin();
  caller_.name = "bob";
  caller_.ref = 2;
  EXPECT_EQ(answer(post(session, R"({"jsonrpc":"2.0","id":2,"method":"ping"})")).status, 404);
  EXPECT_EQ(answer(ask("DELETE", session, "")).status, 404);
  caller_.name = "ana";
  caller_.ref = 1;
  EXPECT_EQ(answer(post(session, R"({"jsonrpc":"2.0","id":2,"method":"ping"})")).status, 200);
}

TEST_F(McpServer, ASessionEndsByDeleteAndByIdleness) {
  const Headers first = begin();
  EXPECT_EQ(answer(ask("DELETE", first, "")).status, 204);
  EXPECT_EQ(answer(post(first, R"({"jsonrpc":"2.0","id":2,"method":"ping"})")).status, 404);
  const Headers second = begin();
  pass(base::Duration{Limits{}.session_idle.us - base::seconds(1).us});
  EXPECT_EQ(answer(post(second, R"({"jsonrpc":"2.0","id":2,"method":"ping"})")).status, 200);
  pass(base::Duration{Limits{}.session_idle.us + base::seconds(1).us});
  EXPECT_EQ(answer(post(second, R"({"jsonrpc":"2.0","id":2,"method":"ping"})")).status, 404);
}

class McpFewSessions : public McpServer {
 public:
  McpFewSessions() : McpServer({.sessions_per_principal_max = 2, .streams_per_principal_max = 2}) {}
};

TEST_F(McpFewSessions, OneMoreEndsTheOneThatWasIdleForLongest) {
  const Headers first = begin();
  pass(base::seconds(1));
  const Headers second = begin();
  pass(base::seconds(1));
  post(first, R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  const Headers third = begin();
  EXPECT_EQ(server_.sessions(), 2u);
  // It comes back in place of another when it is used again.
  EXPECT_EQ(answer(post(second, R"({"jsonrpc":"2.0","id":3,"method":"ping"})")).status, 200);
  EXPECT_EQ(server_.sessions(), 2u);
  // With streams open none is idle.
  ask("GET", second, "");
  ask("GET", third, "");
  begin();
  EXPECT_EQ(answer(connection_).status, 429);
  EXPECT_EQ(answer(post(first, R"({"jsonrpc":"2.0","id":3,"method":"ping"})")).status, 404);
  EXPECT_EQ(answer(ask("GET", legacy_headers, "")).status, 429);
}

TEST_F(McpServer, ASessionOutlivesTheServerWithItsKey) {
  const lib::SecretKey key = lib::random_key();
  const auto ping = [&](Server& server, const Headers& headers) {
    return answer(post(headers, R"({"jsonrpc":"2.0","id":2,"method":"ping"})", {}, &server)).status;
  };
  Headers headers;
  {
    Server first(wire_, clock_, {.version = {}, .key = key});
    headers = begin("2025-06-18", "{}", &first);
    EXPECT_EQ(ping(first, headers), 200);
  }
  Server second(wire_, clock_, {.version = {}, .key = key});
  EXPECT_EQ(ping(second, headers), 200);
  EXPECT_EQ(second.sessions(), 1u);
  Server other(wire_, clock_, {.version = {}});
  EXPECT_EQ(ping(other, headers), 404);
  caller_.name = "bob";
  Server third(wire_, clock_, {.version = {}, .key = key});
  EXPECT_EQ(ping(third, headers), 404);
  caller_.name = "ana";
  clock_.advance(Limits{}.session_life);
  clock_.advance(base::seconds(1));
  EXPECT_EQ(ping(third, headers), 404);
}

TEST_F(McpServer, HeadersMustSayWhatTheBodySays) {
  const std::string list =
      R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{)" + meta() + "}}";
  EXPECT_TRUE(has(text(post(modern("prompts/list"), list)), "-32020"));
  EXPECT_TRUE(has(text(post(modern("TOOLS/LIST"), list)), "-32020"));
  Headers headers = modern("tools/list");
  headers["mcp-protocol-version"] = "2025-11-25";
  EXPECT_TRUE(has(text(post(headers, list)), "-32020"));
  EXPECT_EQ(answer(connection_).status, 400);
  headers.erase("mcp-protocol-version");
  EXPECT_TRUE(has(text(post(headers, list)), "-32020"));
  const std::string simple = call("3", "test_simple_text", R"("arguments":{},)" + meta());
  EXPECT_TRUE(has(text(post(modern("tools/call", "another"), simple)), "-32020"));
  EXPECT_TRUE(has(text(post(modern("tools/call"), simple)), "-32020"));
  EXPECT_EQ(answer(post(modern("tools/call", "test_simple_text"), simple)).status, 200);
  // In base64 as well.
  EXPECT_EQ(
      answer(post(modern("tools/call", "=?base64?dGVzdF9zaW1wbGVfdGV4dA==?="), simple)).status,
      200);
}

TEST_F(McpServer, AnArgumentThatIsAHeaderMustAgreeWithIt) {
  const auto with = [&](std::string_view header, std::string_view arguments) {
    Headers headers = modern("tools/call", "test_header_param");
    if (!header.empty()) {
      headers["mcp-param-region"] = header;
    }
    return answer(post(headers, call("3", "test_header_param",
                                     "\"arguments\":" + std::string(arguments) + "," + meta())))
        .status;
  };
  EXPECT_EQ(with("eu", R"({"region":"eu"})"), 200);
  EXPECT_EQ(with("=?base64?ZXU=?=", R"({"region":"eu"})"), 200);
  EXPECT_EQ(with("", "{}"), 200);
  EXPECT_EQ(with("us", R"({"region":"eu"})"), 400);
  EXPECT_EQ(with("", R"({"region":"eu"})"), 400);
  EXPECT_EQ(with("eu", "{}"), 400);
  EXPECT_EQ(with("=?base64?ZXU?=", R"({"region":"eu"})"), 400);
}

TEST_F(McpServer, AnUnknownVersionIsToldWhichAreKnown) {
  Headers headers = modern("tools/list");
  headers["mcp-protocol-version"] = "2099-01-01";
  const auto at =
      post(headers, R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{)"
                    R"("io.modelcontextprotocol/protocolVersion":"2099-01-01",)"
                    R"("io.modelcontextprotocol/clientCapabilities":{}}}})");
  EXPECT_EQ(answer(at).status, 400);
  EXPECT_TRUE(has(text(at), R"("code":-32022)"));
  EXPECT_TRUE(has(text(at), R"("data":{"supported":["2026-07-28"],"requested":"2099-01-01"})"));
}

TEST_F(McpServer, AnUnknownMethodIs404OnlyInTheModernEra) {
  const auto now =
      post(modern("ping"), R"({"jsonrpc":"2.0","id":2,"method":"ping","params":{)" + meta() + "}}");
  EXPECT_EQ(answer(now).status, 404);
  EXPECT_TRUE(has(text(now), "-32601"));
  const auto old = post(begin(), R"({"jsonrpc":"2.0","id":2,"method":"server/discover"})");
  EXPECT_EQ(answer(old).status, 200);
  EXPECT_TRUE(has(text(old), "-32601"));
}

TEST_F(McpServer, WhatIsNoMessageIsRefused) {
  EXPECT_TRUE(has(text(post(legacy_headers, "{")), "-32700"));
  EXPECT_TRUE(has(text(post(legacy_headers, R"({"id":1,"method":"x"})")), "-32600"));
  EXPECT_TRUE(
      has(text(post(legacy_headers, R"({"jsonrpc":"2.0","id":{},"method":"x"})")), "-32600"));
  EXPECT_TRUE(has(text(post(legacy_headers, R"({"jsonrpc":"2.0","id":1})")), "-32600"));
  EXPECT_TRUE(
      has(text(post(legacy_headers, R"({"jsonrpc":"2.0","id":1,"method":"x","params":[]})")),
          "-32600"));
  EXPECT_EQ(answer(post(legacy_headers, "17")).status, 400);
  EXPECT_EQ(answer(post({{"content-type", "text/plain"}}, "{}")).status, 415);
}

TEST_F(McpServer, BatchesAreOf20250326) {
  const std::string batch =
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},)"
      R"({"jsonrpc":"2.0","id":"b","method":"ping"},{"jsonrpc":"2.0","method":"notifications/y"}])";
  const auto both = post(begin("2025-03-26"), batch);
  EXPECT_EQ(text(both),
            R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"b","result":{}}])");
  EXPECT_EQ(answer(post(begin("2025-06-18"), batch)).status, 400);
  EXPECT_EQ(answer(post(begin("2025-03-26"), R"([{"jsonrpc":"2.0","method":"n"}])")).status, 202);
  EXPECT_EQ(answer(post(legacy_headers, batch)).status, 400);
}

TEST_F(McpServer, AnAnswerAtOnceIsJsonAndALateOneIsAnEvent) {
  const Headers session = begin();
  const auto quick = post(session, call("2", "test_simple_text"));
  EXPECT_EQ(answer(quick).content_type, "application/json");
  const auto slow = post(session, call("3", "wait"));
  EXPECT_FALSE(is_answered(slow));
  pass(Limits{}.stream_after);
  EXPECT_EQ(answer(slow).content_type, "text/event-stream");
  EXPECT_TRUE(text(slow).starts_with("id: "));  // priming
  pass(Limits{}.keep_alive);
  EXPECT_TRUE(has(text(slow), ":\n\n"));
  waiting_.at(0).done(tool_text("done"));
  EXPECT_TRUE(has(text(slow), R"(event: message)"));
  EXPECT_TRUE(has(text(slow), R"("id":3,"result":{"content")"));
  EXPECT_TRUE(wire_.closed.contains(slow));
}

TEST_F(McpServer, HangingUpCancelsInTheModernEra) {
  const auto at = modern_call("wait");
  server_.on_closed(at);
  EXPECT_EQ(cancelled_, 1);
  EXPECT_TRUE(waiting_.at(0).is_over());
  waiting_.at(0).done(tool_text("too late"));
  EXPECT_FALSE(is_answered(at));
}

TEST_F(McpServer, InTheLegacyEraTheAnswerIsKeptForOneWhoComesBack) {
  const Headers session = begin();
  const auto at = post(session, call("3", "wait"));
  pass(Limits{}.stream_after);
  const std::string id = text(at).substr(4, text(at).find('\n') - 4);
  server_.on_closed(at);
  EXPECT_EQ(cancelled_, 0);
  waiting_.at(0).done(tool_text("done"));
  Headers again = session;
  again["last-event-id"] = id;
  const auto back = ask("GET", again, "");
  EXPECT_TRUE(has(text(back), R"("id":3,"result")"));
  EXPECT_TRUE(wire_.closed.contains(back));
  // Before the answer is there, too.
  const auto second = post(session, call("4", "wait"));
  pass(Limits{}.stream_after);
  again["last-event-id"] = text(second).substr(4, text(second).find('\n') - 4);
  server_.on_closed(second);
  const auto third = ask("GET", again, "");
  EXPECT_FALSE(wire_.closed.contains(third));
  waiting_.at(1).done(tool_text("done"));
  EXPECT_TRUE(has(text(third), R"("id":4,"result")"));
  EXPECT_TRUE(wire_.closed.contains(third));
}

TEST_F(McpServer, WhoDoesNotComeBackInTimeIsNotWaitedFor) {
  const auto at = post(begin(), call("3", "wait"));
  pass(Limits{}.stream_after);
  server_.on_closed(at);
  pass(base::Duration{Limits{}.resume_within.us + base::seconds(2).us});
  EXPECT_EQ(cancelled_, 1);
}

TEST_F(McpServer, ACancelledCallGetsNoAnswer) {
  const Headers session = begin();
  const auto at = post(session, call("\"c\"", "wait"));
  const auto note = post(session, R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                                  R"("params":{"requestId":"c"}})");
  EXPECT_EQ(answer(note).status, 202);
  EXPECT_EQ(cancelled_, 1);
  EXPECT_TRUE(text(at).empty());
}

TEST_F(McpServer, TheLegacyClientIsAskedOnTheStreamOfTheCall) {
  const Headers session = begin("2025-11-25", R"({"elicitation":{}})");
  const auto at = post(session, call("5", "test_input_required_result_multi_round"));
  EXPECT_TRUE(has(text(at), R"("id":1,"method":"elicitation/create")"));
  post(session, R"({"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"A"}}})");
  EXPECT_TRUE(has(text(at), R"("id":2,"method":"elicitation/create")"));
  // Not asked for, and asked for once only.
  post(session, R"({"jsonrpc":"2.0","id":9,"result":{}})");
  post(session, R"({"jsonrpc":"2.0","id":1,"result":{}})");
  post(session, R"({"jsonrpc":"2.0","id":2,"result":{"content":{"color":"red"}}})");
  EXPECT_TRUE(has(text(at), "A likes red"));
}

TEST_F(McpServer, WhatTheClientCannotDoIsNotAskedOfIt) {
  const auto old = post(begin(), call("5", "test_elicitation"));
  EXPECT_TRUE(has(text(old), R"("isError":true)"));
  const auto now = modern_call("test_missing_capability", R"({"elicitation":{}})");
  EXPECT_EQ(answer(now).status, 400);
  EXPECT_TRUE(has(text(now), R"("code":-32021)"));
  EXPECT_TRUE(has(text(now), R"("requiredCapabilities":{"sampling":{}})"));
}

class McpState : public McpServer {
 public:
  static constexpr std::string_view tool = "test_input_required_result_multi_round";
  static constexpr std::string_view can = R"({"elicitation":{}})";

  std::string first() { return value_of(text(modern_call(tool, can)), "requestState"); }
  // The second round, with this state.
  const std::string& second(std::string_view state, std::string_view name = tool,
                            std::string_view arguments = "{}") {
    return text(
        modern_call(name, can,
                    "\"arguments\":" + std::string(arguments) +
                        R"(,"inputResponses":{"step1":{"action":"accept","content":{"name":"A"}}},)"
                        R"("requestState":")" +
                        std::string(state) + "\""));
  }
};

TEST_F(McpState, TheStateBringsBackEarlierAnswers) {
  const std::string& round = second(first());
  EXPECT_TRUE(has(round, "step2"));
  const auto last = modern_call(
      tool, can,
      R"("arguments":{},"inputResponses":{"step2":{"content":{"color":"red"}}},"requestState":")" +
          value_of(round, "requestState") + "\"");
  EXPECT_TRUE(has(text(last), "A likes red"));
}

TEST_F(McpState, AnyChangeOfTheStateIsRefused) {
  const std::string state = first();
  for (size_t at = 0; at < state.size(); ++at) {
    std::string changed = state;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_TRUE(has(second(changed), "-32602")) << at;
  }
  EXPECT_TRUE(has(second(state + "A"), "-32602"));
  EXPECT_TRUE(has(second(state.substr(0, state.size() - 1)), "-32602"));
  EXPECT_TRUE(has(second(""), "-32602"));
  EXPECT_TRUE(has(second("AAAA"), "-32602"));
}

TEST_F(McpState, TheStateIsGoodForOneCallOfOnePrincipalForATime) {
  const std::string state = first();
  EXPECT_TRUE(has(second(state, "test_input_required_result_elicitation"), "-32602"));
  EXPECT_TRUE(has(second(state, tool, R"({"x":1})"), "-32602"));
  caller_.name = "bob";
  EXPECT_TRUE(has(second(state), "-32602"));
  caller_.name = "ana";
  pass(base::Duration{Limits{}.state_ttl.us - base::seconds(1).us});
  EXPECT_TRUE(has(second(state), "step2"));
  pass(base::seconds(2));
  EXPECT_TRUE(has(second(state), "-32602"));
}

TEST_F(McpState, AnswersThatAreNoneAreAskedForAgainOrRefused) {
  const auto with = [&](std::string_view answers) {
    return text(
        modern_call(tool, can, R"("arguments":{},"inputResponses":)" + std::string(answers)));
  };
  EXPECT_TRUE(has(with("{}"), "step1"));
  EXPECT_TRUE(has(with(R"({"other":{}})"), "step1"));
  EXPECT_TRUE(has(with("null"), "-32602"));
  EXPECT_TRUE(has(with(R"({"step1":17})"), "-32602"));
}

TEST_F(McpServer, ProgressIsToldToThoseWhoAsk) {
  const auto silent = modern_call("test_tool_with_progress");
  const auto told = post(modern("tools/call", "test_tool_with_progress"),
                         call("7", "test_tool_with_progress",
                              R"("arguments":{},"_meta":{"progressToken":5,)"
                              R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                              R"("io.modelcontextprotocol/clientCapabilities":{}})"));
  pass(base::seconds(1));
  EXPECT_FALSE(has(text(silent), "notifications/progress"));
  EXPECT_TRUE(has(text(told), R"("progressToken":5,"progress":50,"total":100)"));
}

TEST_F(McpServer, SubscribersHearOfWhatTheySubscribedTo) {
  constexpr std::string_view uri = "test://watched-resource";
  const Headers session = begin();
  const auto subscribe = [&](std::string_view what) {
    return text(post(session, R"({"jsonrpc":"2.0","id":4,"method":"resources/)" +
                                  std::string(what) + R"(","params":{"uri":")" + std::string(uri) +
                                  R"("}})"));
  };
  EXPECT_FALSE(server_.has_subscribers());
  subscribe("subscribe");
  EXPECT_TRUE(server_.has_subscribers());
  // Told when the client has a stream for it, and once.
  server_.updated(caller_.workspace, "ana", uri);
  server_.updated(caller_.workspace, {}, uri);
  server_.updated(caller_.workspace, "bob", uri);
  const auto stream = ask("GET", session, "");
  const std::string expected =
      R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":")" +
      std::string(uri) + R"("}})";
  EXPECT_TRUE(has(text(stream), expected));
  EXPECT_EQ(text(stream).find(expected), text(stream).rfind(expected));
  const auto listening =
      post(modern("subscriptions/listen"),
           R"({"jsonrpc":"2.0","id":77,"method":"subscriptions/listen","params":{"notifications":)"
           R"({"resourceSubscriptions":["test://watched-resource","test://nothing"]},)" +
               meta() + "}}");
  EXPECT_TRUE(has(text(listening), "notifications/subscriptions/acknowledged"));
  EXPECT_TRUE(has(text(listening), R"("resourceSubscriptions":["test://watched-resource"])"));
  wire_.room = false;
  server_.updated(caller_.workspace, {}, uri);
  turn();
  EXPECT_FALSE(has(text(listening), "resources/updated"));
  wire_.room = true;
  server_.on_drained(listening);
  turn();
  EXPECT_TRUE(has(text(listening), R"(resources/updated","params":{"_meta":{)"
                                   R"("io.modelcontextprotocol/subscriptionId":77},"uri")"));
  subscribe("unsubscribe");
  server_.on_closed(listening);
  EXPECT_FALSE(server_.has_subscribers());
}

TEST_F(McpServer, AStreamEndsWithItsToken) {
  const auto stream = ask("GET", begin(), "");
  wire_.gone.insert("ana");
  pass(base::seconds(2));
  EXPECT_TRUE(wire_.closed.contains(stream));
}

TEST_F(McpServer, TheOldTransportHasAllAnswersOnOneStream) {
  const auto stream = ask("GET", legacy_headers, "");
  EXPECT_TRUE(text(stream).starts_with("event: endpoint\ndata: /mcp?sessionId="));
  const std::string query = text(stream).substr(text(stream).find('?') + 1, 10 + 36);
  const auto post_old = [&](std::string_view body) {
    return answer(post({{"content-type", "application/json"}}, body, query)).status;
  };
  EXPECT_EQ(post_old(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{)"
                     R"("protocolVersion":"2024-11-05","capabilities":{}}})"),
            202);
  EXPECT_TRUE(has(text(stream), R"("protocolVersion":"2024-11-05")"));
  EXPECT_EQ(post_old(call("2", "test_simple_text")), 202);
  EXPECT_TRUE(has(text(stream), "This is a simple text response"));
  EXPECT_EQ(post_old(call("3", "wait")), 202);
  server_.on_closed(stream);
  EXPECT_EQ(cancelled_, 1);
  EXPECT_EQ(post_old(R"({"jsonrpc":"2.0","id":4,"method":"ping"})"), 404);
}

TEST_F(McpServer, WithoutASessionOnlyPostIsTaken) {
  EXPECT_EQ(answer(ask("GET", modern("x"), "")).status, 405);
  EXPECT_EQ(answer(ask("DELETE", legacy_headers, "")).status, 405);
  EXPECT_EQ(answer(ask("GET", {{"accept", "application/json"}}, "")).status, 405);
}

class McpFewCalls : public McpServer {
 public:
  McpFewCalls() : McpServer({.runs_per_principal_max = 2}) {}
};

TEST_F(McpFewCalls, OneMoreIsRefusedUntilOneIsAnswered) {
  modern_call("wait");
  modern_call("wait");
  EXPECT_TRUE(has(text(modern_call("wait")), "-31000"));
  waiting_.at(0).done(tool_text("done"));
  modern_call("wait");
  EXPECT_FALSE(is_answered(connection_));
}

TEST(McpCatalog, OffersEmptyListsAtFirst) {
  EXPECT_EQ(Catalog().tools_list(), R"("tools":[])");
  EXPECT_EQ(Catalog().templates_list(), R"("resourceTemplates":[])");
}

TEST(McpCatalog, ATemplateTakesOneSegmentAVariable) {
  EXPECT_EQ(match_template("a://{x}/b/{y}", "a://1/b/%41%20"), R"({"x":"1","y":"A "})");
  EXPECT_FALSE(match_template("a://{x}", "a://1/2"));
  EXPECT_FALSE(match_template("a://{x}", "a://"));
  EXPECT_FALSE(match_template("a://{x}", "a://%zz"));
  EXPECT_FALSE(match_template("a://{x}/b", "a://1/b/c"));
}

}  // namespace
}  // namespace parley::edge::mcp
