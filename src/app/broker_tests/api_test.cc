// SPDX-License-Identifier: Apache-2.0
// What only a whole broker shows of the API: who counts what.
#include <gtest/gtest.h>

#include "app/broker_tests/live_broker_test.h"
#include "base/secrets/secrets.h"
#include "lib/json.h"

namespace parley::app {
namespace {

class WholeApi : public LiveBroker {
 protected:
  void SetUp() override {
    LiveBroker::SetUp();
    start({.journal = directory() + "/journal"});
  }

  // The refusals with this code that /metrics has counted; 0 where it does not name the code.
  uint64_t refusals(const std::string& code) {
    const std::string line = "\nparley_errors_total{code=\"" + code + "\"} ";
    const std::string text = call_as("human:kim", "GET", "/metrics").body;
    const size_t at = text.find(line);
    return at == text.npos ? 0 : std::stoull(text.substr(at + line.size()));
  }
  // The tokens that count for the agent's budget of the day.
  uint64_t tokens_of(const std::string& name) {
    lib::JsonDocument document;
    const auto agent = document.parse(call_as(name, "GET", "/v1/agents/" + name).body);
    return agent ? agent->find("budget").find("tokens").as_uint64().value_or(0) : 0;
  }
};

TEST_F(WholeApi, ARefusalThatNeedsTheHistoryIsCounted) {
  const uint64_t before = refusals("NOT_FOUND");
  EXPECT_EQ(call_as("ana", "GET", "/v1/messages/4711").status, 404);
  EXPECT_EQ(refusals("NOT_FOUND"), before + 1);
  EXPECT_EQ(call_as("ana", "GET", "/v1/messages/4711/delivery").status, 404);
  EXPECT_EQ(refusals("NOT_FOUND"), before + 2);
  EXPECT_EQ(call_as("ana", "GET", "/v1/threads/nowhere").status, 404);
  EXPECT_EQ(refusals("NOT_FOUND"), before + 3);
  EXPECT_EQ(call_as("ana", "GET", "/v1/traces/00000000000000000000000000004711").status, 404);
  EXPECT_EQ(refusals("NOT_FOUND"), before + 4);
}

TEST_F(WholeApi, ARefusalWithMembersOfItsOwnIsCountedOnce) {
  ASSERT_EQ(call_as("ana", "PUT", "/v1/locks/l", "{}").status, 200);
  const auto held = call_as("ivy", "PUT", "/v1/locks/l", "{}");
  EXPECT_EQ(held.status, 409);
  EXPECT_NE(held.body.find(R"("owner":"ana","ends_at":")"), std::string::npos) << held.body;
  EXPECT_EQ(refusals("LOCK_HELD"), 1U);
}

TEST_F(WholeApi, AResultOfInboxReportsTheTokensInItsMetrics) {
  const auto sent = call_as("ivy", "POST", "/v1/messages",
                            R"({"to":"ana","type":"result","content":{"taskId":"t",)"
                            R"("status":"complete","result":"r","metrics":{"tokensUsed":15000}}})");
  ASSERT_EQ(sent.status, 202) << sent.body;
  EXPECT_EQ(tokens_of("ivy"), 15'000U);
}

TEST_F(WholeApi, AMemberMetadataOfAnotherDialectIsItsSendersOwn) {
  const auto sent = call_as("cem", "POST", "/v1/messages?lenient=true",
                            R"({"to":"ana","type":"event","action":"a","payload":null,)"
                            R"("metadata":{"tokens_used":"many"}})");
  EXPECT_EQ(sent.status, 202) << sent.body;
  const auto again = call_as("cem", "POST", "/v1/messages?lenient=true",
                             R"({"to":"ana","type":"event","action":"a","payload":null,)"
                             R"("metadata":{"tokens_used":600}})");
  EXPECT_EQ(again.status, 202) << again.body;
  EXPECT_EQ(tokens_of("cem"), 0U);
}

// A third of what may be judged of a request, and a little more.
std::string message_to_judge() {
  std::string text =
      R"({"type":"notification","receiver":"human:kim","payload":{"body":{"password":[)";
  for (uint64_t n = 0; n < base::Looks::units_max / 3 + 1; ++n) {
    text += n == 0 ? R"("aaaaaaaa")" : R"(,"aaaaaaaa")";
  }
  return text + "]}}}";
}

TEST_F(WholeApi, TheMessagesOfABatchShareTheLooksForSecrets) {
  const std::string one = message_to_judge();
  const auto post = [this](const std::string& body) {
    const auto sent = call_as("ana", "POST", "/v1/messages?lenient=true", body);
    EXPECT_EQ(sent.status, 202) << sent.body;
    return sent.body;
  };
  constexpr std::string_view warning = "there are too many places that look like secrets";
  EXPECT_EQ(post("[" + one + "," + one + "]").find(warning), std::string::npos);
  const std::string three = post("[" + one + "," + one + "," + one + "]");
  const size_t at = three.find(warning);
  ASSERT_NE(at, std::string::npos) << three;
  EXPECT_EQ(three.find(warning, at + 1), std::string::npos) << three;
}

TEST_F(WholeApi, TheMetadataOfFlowReportsTokens) {
  const auto send = [this](std::string_view tokens) {
    return call_as("ana", "POST", "/v1/messages?lenient=true",
                   R"({"type":"notification","receiver":"ivy","metadata":{"tokens_used":)" +
                       std::string(tokens) + R"(},"payload":{"body":"hello"}})");
  };
  ASSERT_EQ(send("600").status, 202);
  EXPECT_EQ(tokens_of("ana"), 600U);
  const auto refused = send("\"many\"");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find(R"("field":"/metadata/tokens_used")"), std::string::npos)
      << refused.body;
}

}  // namespace
}  // namespace parley::app
