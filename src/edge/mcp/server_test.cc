// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/server_test.h"

#include <algorithm>

namespace parley::edge::mcp {
namespace {

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

// Who is removed takes its sessions along, and who is registered under its name begins its own:
// whether the session is in memory or not, and whichever token each has.
TEST_F(McpServer, ANamesakesSessionIsNone) {
  const std::string ping = R"({"jsonrpc":"2.0","id":2,"method":"ping"})";
  caller_.registered = clock_.now();
  const Headers in_memory = begin();
  const Headers evicted = begin();
  caller_.token[0] = 1;
  EXPECT_EQ(answer(post(in_memory, ping)).status, 200);
  pass(base::Duration{Limits{}.session_idle.us + base::seconds(1).us});
  EXPECT_EQ(answer(post(in_memory, ping)).status, 200);
  EXPECT_EQ(server_.sessions(), 1u);
  const Principal before = caller_;
  caller_.registered = clock_.now();
  EXPECT_EQ(answer(post(in_memory, ping)).status, 404);
  EXPECT_EQ(answer(post(evicted, ping)).status, 404);
  EXPECT_EQ(answer(ask("DELETE", evicted, "")).status, 404);
  EXPECT_EQ(server_.sessions(), 0u);
  const Headers own = begin();
  EXPECT_EQ(answer(post(own, ping)).status, 200);
  EXPECT_NE(caller_.registered, before.registered);
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
  EXPECT_TRUE(has(text(post(begin("2025-03-26"), "[]")), R"("code":-32600)"));
  EXPECT_EQ(answer(connection_).status, 400);
}

TEST_F(McpServer, NullIsAsGoodAsLeftOut) {
  const Headers session = begin();
  for (const std::string_view body :
       {R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":null})",
        R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":null}})",
        R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_simple_text",)"
        R"("arguments":null}})",
        R"({"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"test_simple_prompt",)"
        R"("arguments":null}})"}) {
    EXPECT_TRUE(has(text(post(session, body)), R"("id":2,"result":{)")) << text(connection_);
  }
}

TEST_F(McpServer, APromptIsAMessageOfTheUser) {
  const Headers session = begin();
  const auto get = [&](std::string_view params) {
    return text(post(session, R"({"jsonrpc":"2.0","id":2,"method":"prompts/get","params":)" +
                                  std::string(params) + "}"));
  };
  EXPECT_EQ(get(R"({"name":"test_simple_prompt"})"),
            R"({"jsonrpc":"2.0","id":2,"result":{"description":"A prompt","messages":[{)"
            R"("role":"user","content":{"type":"text",)"
            R"("text":"This is a simple prompt for testing."}}]}})");
  EXPECT_TRUE(has(get(R"({"name":"nonsense"})"), "there is no such prompt"));
  EXPECT_TRUE(has(get("{}"), "there is no such prompt"));
  EXPECT_TRUE(
      has(get(R"({"name":"test_simple_prompt","arguments":[]})"), "arguments is an object"));
  EXPECT_TRUE(has(get(R"({"name":"test_prompt_with_arguments"})"), "the argument arg1 is missing"));
}

TEST_F(McpServer, OnlyAnArgumentThatIsThereIsCompleted) {
  const Headers session = begin();
  const auto complete = [&](std::string_view ref, std::string_view name) {
    return text(post(session, R"({"jsonrpc":"2.0","id":2,"method":"completion/complete",)"
                              R"("params":{"ref":)" +
                                  std::string(ref) + R"(,"argument":{"name":")" +
                                  std::string(name) + R"(","value":""}}})"));
  };
  constexpr std::string_view prompt =
      R"({"type":"ref/prompt","name":"test_prompt_with_arguments"})";
  EXPECT_TRUE(has(complete(prompt, "arg1"), R"("completion":)"));
  EXPECT_TRUE(has(complete(prompt, "nonsense"), R"("code":-32602)"));
  constexpr std::string_view resource =
      R"({"type":"ref/resource","uri":"test://template/{id}/data"})";
  EXPECT_TRUE(has(complete(resource, "id"), R"("completion":)"));
  EXPECT_TRUE(has(complete(resource, "nonsense"), R"("code":-32602)"));
}

TEST_F(McpServer, AnIdInUseIsRefused) {
  const Headers session = begin();
  const auto first = post(session, call("5", "wait"));
  const auto second = post(session, call("5", "wait"));
  EXPECT_TRUE(has(text(second), R"("id":5,"error":{"code":-32600)"));
  EXPECT_EQ(waiting_.size(), 1u);
  waiting_.at(0).done(tool_text("done"));
  EXPECT_TRUE(has(text(first), R"("id":5,"result")"));
  EXPECT_FALSE(is_answered(post(session, call("5", "wait"))));
}

// What a text ends with says nothing about how the call went.
TEST_F(McpServer, ACallFailedIfItsResultIsMarkedSo) {
  const Headers session = begin();
  post(session, call("5", "wait"));
  waiting_.at(0).done({R"("content":[],"isError":true)"});
  post(session, call("6", "wait"));
  waiting_.at(1).done(tool_error("no"));
  const auto structured = post(session, call("7", "wait"));
  waiting_.at(2).done({R"("content":[],"structuredContent":{})", true});
  EXPECT_TRUE(has(text(structured), R"("structuredContent":{},"isError":true})"));
  modern_call("test_missing_capability", R"({"elicitation":{}})");
  using enum Host::Outcome;
  EXPECT_EQ(wire_.outcomes, (std::vector{done, failed, failed, refused}));
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
  // Nothing else may be sent on the connection of a stream.
  EXPECT_EQ(std::ranges::count(answer(at).headers,
                               std::pair<std::string, std::string>("Connection", "close")),
            1);
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
  EXPECT_TRUE(has(text(modern_call("test_input_required_result_list_roots")),
                  R"("requiredCapabilities":{"roots":{}})"));
  EXPECT_TRUE(
      has(text(modern_call("test_elicitation")), R"("requiredCapabilities":{"elicitation":{}})"));
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
  caller_.registered = clock_.now();  // another of the same name
  EXPECT_TRUE(has(second(state), "-32602"));
  caller_.registered = {};
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
  EXPECT_EQ(match_template("a://{x}/b/{y}", "a://1/b/%41%20")->variables, R"({"x":"1","y":"A "})");
  EXPECT_FALSE(match_template("a://{x}", "a://1/2"));
  EXPECT_FALSE(match_template("a://{x}", "a://"));
  EXPECT_FALSE(match_template("a://{x}", "a://%zz"));
  EXPECT_FALSE(match_template("a://{x}/b", "a://1/b/c"));
}

}  // namespace
}  // namespace parley::edge::mcp
