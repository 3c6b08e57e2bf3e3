// SPDX-License-Identifier: Apache-2.0
// What a principal's calls may keep until they are answered, and that nothing is kept after that.
#include <string>

#include "edge/mcp/server_test.h"

namespace parley::edge::mcp {
namespace {

class McpHeld : public McpServer {
 public:
  McpHeld()
      : McpServer({.held_bytes_max = 10'000,
                   .kept_bytes_max = 1'000,
                   .kept_bytes_of_principal_max = 5'000}) {
    server_.add({.tools = {{.name = "big",
                            .title = {},
                            .description = "Says much",
                            .handler =
                                [](const CallContext& context) {
                                  context.call.done(tool_text(std::string(4'000, 'x')));
                                }},
                           {.name = "remind",
                            .title = {},
                            .description = "Is answered before what it waits for",
                            .handler = [this](const CallContext& context) {
                              context.call.at(clock_.now() + base::hours(1),
                                              [this] { ++reminded_; });
                              context.call.done(tool_text("at once"));
                            }}}});
  }

  static std::string waiting(std::string_view id, size_t bytes) {
    return call(id, "wait", R"("arguments":{"text":")" + std::string(bytes, 'x') + R"("})");
  }
  static std::string batch(std::string_view tool, int count, std::string_view last = {}) {
    std::string all = "[";
    for (int n = 0; n < count; ++n) {
      all += (n == 0 ? "" : ",") + call(std::to_string(10 + n), tool);
    }
    return all + (last.empty() ? "" : "," + std::string(last)) + "]";
  }

 protected:
  int reminded_ = 0;
};

TEST_F(McpHeld, OpenCallsKeepSoMuchAndNoMore) {
  const Headers session = begin();
  const auto first = post(session, waiting("2", 6'000));
  const auto second = post(session, waiting("3", 6'000));
  EXPECT_FALSE(is_answered(first));
  EXPECT_TRUE(has(text(second), "mcp.held_bytes_max")) << text(second);
  waiting_.front().done(tool_text("now"));
  EXPECT_EQ(server_.held_bytes(), 0u);
  EXPECT_FALSE(is_answered(post(session, waiting("4", 6'000))));
}

TEST_F(McpHeld, WhatAnotherPrincipalKeepsIsItsOwn) {
  post(begin(), waiting("2", 6'000));
  caller_ = {.ref = 2, .name = "bob", .kind = core::PrincipalKind::agent};
  EXPECT_FALSE(is_answered(post(begin(), waiting("2", 6'000))));
}

TEST_F(McpHeld, ACallInTheModernEraKeepsNoMoreEither) {
  const std::string state = R"("arguments":{},"inputResponses":{"a":{"text":")";
  const auto at = modern_call("wait", "{}", state + std::string(11'000, 'x') + R"("}})");
  EXPECT_TRUE(has(text(at), "mcp.held_bytes_max")) << text(at).substr(0, 300);
  EXPECT_EQ(server_.held_bytes(), 0u);
}

TEST_F(McpHeld, WhatACallWaitsForGoesWithIt) {
  modern_call("remind");
  EXPECT_EQ(server_.on_turn(clock_.now()), base::time_max);
  pass(base::hours(2));
  EXPECT_EQ(reminded_, 0);
}

TEST_F(McpHeld, AMessageOfABatchHasATurnOfItsOwn) {
  send("POST", begin("2025-03-26"), batch("wait", 3));
  EXPECT_EQ(waiting_.size(), 1u);
  ASSERT_EQ(wire_.deferred.size(), 1u);
  turn();
  EXPECT_EQ(waiting_.size(), 3u);
}

TEST_F(McpHeld, ABatchWhoseAnswersAreTooLargeIsGivenUp) {
  Headers headers = begin("2025-03-26");
  headers["accept"] = "application/json";
  const auto at = post(headers, batch("big", 3, call("99", "wait")));
  EXPECT_EQ(answer(at).status, too_many);
  EXPECT_TRUE(has(text(at), "mcp.held_bytes_max")) << text(at).substr(0, 300);
  EXPECT_EQ(server_.held_bytes(), 0u);
  EXPECT_EQ(server_.streams(), 0u);
}

TEST_F(McpHeld, AClientThatTakesEventsGetsThemOneByOne) {
  const auto at = post(begin("2025-03-26"), batch("big", 3, call("99", "wait")));
  EXPECT_TRUE(has(text(at), R"("id":10)"));
  EXPECT_TRUE(has(text(at), R"("id":12)"));
  EXPECT_FALSE(wire_.closed.contains(at));
  waiting_.front().done(tool_text("now"));
  EXPECT_TRUE(wire_.closed.contains(at));
  EXPECT_EQ(server_.held_bytes(), 0u);
}

TEST_F(McpHeld, ABatchThatItsClientLeftIsNotCarriedOut) {
  const Headers headers = begin("2025-03-26");
  const auto at = send("POST", headers, batch("wait", 3));
  EXPECT_EQ(waiting_.size(), 1u);  // the others have turns to come
  server_.on_closed(at);
  turn();
  EXPECT_EQ(waiting_.size(), 1u);
  EXPECT_EQ(cancelled_, 1);
  EXPECT_EQ(server_.held_bytes(), 0u);
}

// An event that is larger than a session may keep is kept where the sessions of its principal keep
// little besides.
TEST_F(McpHeld, LargeEventsOfManySessionsAreNotAllKept) {
  constexpr int gone = 410;
  std::vector<int> statuses;
  for (int n = 0; n < 3; ++n) {
    Headers session = begin("2025-11-25");
    const auto at = post(session, call("2", "wait"));
    pass(base::seconds(2));  // now it is answered by events
    const std::string& told = text(at);
    const std::string first = told.substr(told.find("id: ") + 4);
    waiting_.back().done(tool_text(std::string(1'700, 'x')));
    EXPECT_TRUE(wire_.closed.contains(at));
    session["last-event-id"] = first.substr(0, first.find('\n'));
    statuses.push_back(answer(ask("GET", session, "")).status);
  }
  EXPECT_EQ(statuses, (std::vector{200, 200, gone}));
}

}  // namespace
}  // namespace parley::edge::mcp
