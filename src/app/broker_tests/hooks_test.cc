// SPDX-License-Identifier: Apache-2.0
// SP-13: what a hook of GitHub is answered. That its event is delivered, tests/e2e/github.test.mjs
// shows.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <mutex>

#include "app/broker_tests/live_broker_test.h"
#include "base/text.h"
#include "edge/events/hook.h"
#include "lib/crypto.h"

namespace parley::app {
namespace {

constexpr std::string_view secret = "It's a Secret to Everybody";

std::string signature_of(std::string_view body) {
  return "sha256=" + base::hex(lib::hmac_sha256(secret, body));
}

std::string payload(const std::string& name) {
  std::ifstream file("tests/github/" + name + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

class Hooks : public LiveBroker {
 protected:
  void begin(edge::events::Options events) {
    start({.journal = directory() + "/journal", .events = std::move(events)});
  }
  net::ClientResponse post(std::string_view body, net::Headers headers) {
    return call("POST", "/hooks/github", body, headers);
  }
  net::ClientResponse deliver(std::string_view event, std::string_view body) {
    return post(body, {{"X-Hub-Signature-256", signature_of(body)},
                       {"X-GitHub-Event", std::string(event)},
                       {"X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"}});
  }
  uint64_t written() {
    const std::string health = call_as("human:kim", "GET", "/v1/health").body;
    const size_t at = health.find("\"seq\":");
    return at == health.npos ? 0 : std::stoull(health.substr(at + 6));
  }
};

// The example of GitHub's documentation.
TEST(Signature, SP13IsThatOfTheWholeBodyWithTheSecret) {
  using edge::events::is_signed;
  const std::string right =
      "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  EXPECT_TRUE(is_signed(secret, right, "Hello, World!"));
  EXPECT_FALSE(is_signed(secret, right, "Hello, World"));
  EXPECT_FALSE(is_signed("another", right, "Hello, World!"));
  EXPECT_FALSE(is_signed("", right, "Hello, World!"));
  for (size_t n = 0; n < right.size(); ++n) {
    std::string wrong = right;
    wrong[n] = wrong[n] == '0' ? '1' : '0';
    EXPECT_FALSE(is_signed(secret, wrong, "Hello, World!")) << n;
    EXPECT_FALSE(is_signed(secret, right.substr(0, n), "Hello, World!")) << n;
  }
}

TEST_F(Hooks, SP13WithoutASecretThereIsNone) {
  begin({});
  EXPECT_EQ(deliver("ping", payload("ping")).status, 404);
  EXPECT_EQ(post("", {}).status, 404);
}

TEST_F(Hooks, SP13ABadSignatureIsRefusedInOneWayAndLeavesNothing) {
  begin({.secret = std::string(secret)});
  const std::string body = payload("issues");
  const uint64_t before = written();
  const net::Headers event = {{"X-GitHub-Event", "issues"}, {"X-GitHub-Delivery", "1"}};
  std::string first;
  for (const std::string& signature :
       {std::string(), std::string("sha256="), std::string("sha256=") + std::string(64, '0'),
        signature_of(body + " "), "sha1=" + signature_of(body).substr(7), std::string(71, 'x')}) {
    net::Headers headers = event;
    headers.emplace_back("X-Hub-Signature-256", signature);
    const auto answer = post(body, headers);
    EXPECT_EQ(answer.status, 401) << signature;
    EXPECT_EQ(answer.header("content-type"), "application/problem+json");
    first = first.empty() ? answer.body : first;
    EXPECT_EQ(answer.body, first) << signature;
  }
  EXPECT_EQ(post(body, {}).status, 401);
  // A right one beside another: who looked at the request before may have judged the other.
  net::Headers two = event;
  two.emplace_back("X-Hub-Signature-256", signature_of(body));
  two.emplace_back("X-Hub-Signature-256", signature_of(body + " "));
  EXPECT_EQ(post(body, two).status, 400);
  EXPECT_EQ(written(), before);
}

TEST_F(Hooks, SP13APingIsAnsweredAndWhatIsNotDelegatedIsIgnoredWithAReason) {
  begin({.secret = std::string(secret)});
  EXPECT_EQ(deliver("ping", payload("ping")).status, 200);
  const auto push = deliver("push", R"({"ref":"refs/heads/main"})");
  EXPECT_EQ(push.status, 202);
  EXPECT_TRUE(push.body.starts_with(R"({"state":"ignored","reason":"only issues.opened)"))
      << push.body;
  const auto bot = deliver("issues", R"({"action":"opened","repository":{"full_name":"o/r"},)"
                                     R"("issue":{"number":1},"sender":{"type":"Bot"}})");
  EXPECT_EQ(bot.status, 202);
  EXPECT_NE(bot.body.find("github.bots"), std::string::npos) << bot.body;
}

TEST_F(Hooks, WithRoutesOfItsOwnWhatFitsNoneIsIgnored) {
  begin({.secret = std::string(secret),
         .tables = {.routes = {{.label = "security", .terms = {.worker = "triage"}}}}});
  const auto answer = deliver("issues", payload("issues"));
  EXPECT_EQ(answer.status, 202);
  EXPECT_NE(answer.body.find("no [[github.route]] fits issues.opened of octo-org/widgets"),
            std::string::npos)
      << answer.body;
}

TEST_F(Hooks, WhatIsNoPayloadOfGitHubIsRefused) {
  begin({.secret = std::string(secret), .body_bytes_max = 1'000});
  EXPECT_EQ(deliver("issues", "payload=%7B%7D").status, 400);
  EXPECT_EQ(deliver("issues", R"({"action":"opened"})").status, 400);
  EXPECT_EQ(deliver("", "{}").status, 400);
  EXPECT_EQ(deliver("push", std::string(1'000, ' ') + "{}").status, 413);
  EXPECT_EQ(call_as("ana", "GET", "/hooks/github").status, 405);
}

TEST_F(Hooks, SP13WithoutItsSupervisorTheHookSaysWhatToDo) {
  std::mutex mutex;
  std::vector<std::string> warnings;
  begin({.secret = std::string(secret), .warn = [&](const std::string& text) {
           const std::lock_guard lock(mutex);
           warnings.push_back(text);
         }});
  const auto answer = deliver("issues", payload("issues"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("parley agent add orchestrator --dialect superprompt"),
            std::string::npos)
      << answer.body;
  const std::lock_guard lock(mutex);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings.front().find(secret), std::string::npos);
}

}  // namespace
}  // namespace parley::app
