// SPDX-License-Identifier: Apache-2.0
// XD-10: when an agent is told of mail, how often, and with what proof.
#include "edge/webhooks/webhooks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "core/machine/testing.h"

namespace parley::edge {
namespace {

using base::Duration;
using core::testing::a_send;
using core::testing::an_agent;
using core::testing::target;
using core::testing::token_of;

// A machine with an agent that has a webhook, and a receiver that answers as it is told.
class WebhooksTest : public testing::Test {
 protected:
  WebhooksTest() {
    bench_.apply(core::broker_name, an_agent("ana"));
    core::Register bo = an_agent("bo");
    bo.token = token_of("bo");
    bo.webhook = "https://example.org/wake";
    bo.webhook_secret = token_of("secret");
    bench_.apply(core::broker_name, bo);
    make();
  }

  void make() {
    Webhooks::Options options;
    options.limits.again_after = base::seconds(60);
    options.limits.failures_max = 3;
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
    options.send = [this](Poster::Request request, Poster::Done done) {
      asked_.push_back(std::move(request));
      done_.push_back(std::move(done));
      return true;
    };
    webhooks_.emplace(bench_.machine, waits_, options,
                      Webhooks::Environment{.now = [this] { return now(); },
                                      .post = [](std::function<void()> work) { work(); },
                                      .is_awaited = [this](auto, auto) { return polls_; }});
  }

  base::Time now() const { return bench_.now + ahead_; }
  void pass(Duration duration) {
    ahead_.us += duration.us;
    waits_.run(now());
  }
  // Applies as an actor and tells the webhooks.
  void act(std::string_view actor, const core::Command& command) {
    bench_.now = now();
    ahead_ = {};
    const core::Entry entry{
        bench_.machine.seq().next(), bench_.now, {bench_.origin, ++bench_.number},
        core::workspace_first,       actor,      command};
    const core::Outcome outcome = bench_.apply(entry);
    webhooks_->applied(entry, outcome, bench_.effects);
    waits_.run(now());
  }
  void answer(int status) {
    const Poster::Done done = std::move(done_.front());
    done_.pop_front();
    done({.status = status,
          .error = status == 204 ? ""
                   : status == 0 ? "no way"
                                 : "HTTP " + std::to_string(status),
          .detail = status == 0 ? "10.0.0.1 is silent" : "HTTP " + std::to_string(status),
          .retry_after = {}});
    waits_.run(now());
  }
  std::string shown(bool for_admin = false) const {
    std::string text;
    lib::JsonWriter out(text);
    const core::Agents& agents = bench_.machine.find(core::workspace_first)->tables().agents;
    webhooks_->render(core::workspace_first, agents[agents.find("bo")], for_admin, out);
    return text;
  }

  core::testing::Bench bench_;
  Waits waits_;
  Duration ahead_;
  bool polls_ = false;
  std::deque<Poster::Request> asked_;
  std::deque<Poster::Done> done_;
  std::vector<std::string> warnings_;
  std::optional<Webhooks> webhooks_;
};

TEST_F(WebhooksTest, OneRequestForMuchMail) {
  for (const char* id : {"m1", "m2", "m3"}) {
    act("ana", a_send("ana", id).to("bo"));
  }
  EXPECT_EQ(asked_.size(), 1u);
  answer(204);
  act("ana", a_send("ana", "m4").to("bo"));
  pass(base::seconds(59));
  EXPECT_EQ(asked_.size(), 1u);
  pass(base::seconds(2));
  EXPECT_EQ(asked_.size(), 2u);  // still unread, and more came
}

TEST_F(WebhooksTest, WhoWasToldAndDoesNothingIsRemindedLessAndLess) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(204);  // and then it dies
  size_t told = 1;
  for (const int64_t minutes : {1, 2, 4, 8, 16, 32, 60, 60}) {
    pass(Duration{base::minutes(minutes).us - base::seconds(1).us});
    EXPECT_EQ(asked_.size(), told) << minutes;
    pass(base::seconds(1));
    ASSERT_EQ(asked_.size(), ++told) << minutes;
    answer(204);
  }
  EXPECT_NE(asked_[0].headers()[0], asked_[1].headers()[0]);  // another event, another id
  // One that looked knows; what comes later is a matter of its own.
  act("bo", core::Read{target("m1")});
  pass(base::hours(2));
  EXPECT_EQ(asked_.size(), told);
}

TEST_F(WebhooksTest, TheProofIsOfTheMomentItIsSent) {
  act("ana", a_send("ana", "m1").to("bo"));
  const std::string before = asked_[0].headers()[1].second;
  pass(base::minutes(10));  // in the queue of those that wait for a thread
  EXPECT_EQ(std::stoll(asked_[0].headers()[1].second), std::stoll(before) + 600);
}

TEST_F(WebhooksTest, WhatIsKnownOfTheNetworkIsForAdmins) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(0);
  EXPECT_NE(shown().find("\"last_error\":\"no way\""), std::string::npos) << shown();
  EXPECT_NE(shown(true).find("\"last_error\":\"10.0.0.1 is silent\""), std::string::npos);
}

TEST_F(WebhooksTest, OneThatIsGoneIsLeftAloneUntilItIsSetAgain) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(410);
  EXPECT_NE(shown().find("\"disabled\""), std::string::npos) << shown();
  pass(base::seconds(5));
  act("bo", core::Read{target("m1")});  // it is heard of, which is not enough
  act("ana", a_send("ana", "m2").to("bo"));
  pass(base::hours(1));
  EXPECT_EQ(asked_.size(), 1u);
  core::Register bo = an_agent("bo");
  bo.webhook = "https://example.org/wake";
  act(core::broker_name, bo);
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(WebhooksTest, AChangeOfStateIsLoggedOnce) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(0);
  pass(base::seconds(2));
  answer(500);
  EXPECT_EQ(warnings_, std::vector<std::string>{
                           "the webhook of bo fails and is tried again: 10.0.0.1 is silent"});
  pass(base::seconds(5));
  answer(204);
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_EQ(warnings_[1], "the webhook of bo works again");
  pass(base::minutes(1));
  answer(204);
  pass(base::minutes(2));
  for (const int n : {1, 2, 3}) {
    answer(500);
    pass(base::seconds(5 * n));
  }
  EXPECT_EQ(warnings_.back(), "the webhook of bo failed 3 times in a row and rests: HTTP 500");
  EXPECT_EQ(warnings_.size(), 4u);
}

TEST_F(WebhooksTest, AnAgentThatLookedIsToldOfNewMailAtOnce) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(204);
  pass(base::seconds(5));
  act("bo", core::Read{target("m1")});
  act("bo", core::Ack{target("m1"), {}});
  act("ana", a_send("ana", "m2").to("bo"));
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(WebhooksTest, LookingEndsTheTimeForWhichItWasToBeLeftAlone) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(204);
  act("ana", a_send("ana", "m2").to("bo"));
  pass(base::seconds(5));
  EXPECT_EQ(asked_.size(), 1u);
  act("bo", core::Read{target("m1")});
  act("bo", core::Read{target("m2")});
  act("ana", a_send("ana", "m3").to("bo"));
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(WebhooksTest, MailThatComesDuringARequestIsNotForgotten) {
  act("ana", a_send("ana", "m1").to("bo"));
  pass(base::milliseconds(100));
  act("bo", core::Read{target("m1")});
  act("ana", a_send("ana", "m2").to("bo"));
  EXPECT_EQ(asked_.size(), 1u);
  answer(204);
  pass(base::seconds(1));
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(WebhooksTest, WhoReadsBeforeItIsTriedAgainIsLeftAlone) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(500);
  act("bo", core::Read{target("m1")});
  pass(base::hours(1));
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(WebhooksTest, WhoPollsIsLookedAfterLaterOnly) {
  polls_ = true;
  act("ana", a_send("ana", "m1").to("bo"));
  EXPECT_TRUE(asked_.empty());
  polls_ = false;  // its connection was dead: the mail still waits
  pass(base::seconds(60));
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(WebhooksTest, FailuresAreTriedAgainLaterEachTimeThenItRests) {
  act("ana", a_send("ana", "m1").to("bo"));
  const std::string id = asked_[0].headers()[0].second;
  answer(500);
  pass(base::milliseconds(900));
  EXPECT_EQ(asked_.size(), 1u);
  pass(base::milliseconds(400));
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].headers()[0].second, id);
  EXPECT_EQ(asked_[1].body, asked_[0].body);  // one id, one event
  EXPECT_TRUE(asked_[1].failed_before);
  EXPECT_NE(shown().find("\"failing\""), std::string::npos) << shown();
  answer(0);
  pass(base::milliseconds(2'600));
  ASSERT_EQ(asked_.size(), 3u);
  answer(503);
  EXPECT_NE(shown().find("\"disabled\""), std::string::npos) << shown();
  EXPECT_EQ(webhooks_->disabled(), 1u);
  pass(base::hours(1));
  act("ana", a_send("ana", "m2").to("bo"));
  EXPECT_EQ(asked_.size(), 3u);
  // It is heard of.
  act("bo", core::Read{target("m1")});
  act("ana", a_send("ana", "m3").to("bo"));
  EXPECT_EQ(asked_.size(), 4u);
  EXPECT_EQ(webhooks_->failures(), 3u);
}

TEST_F(WebhooksTest, AfterARestartWhatWaitsWakes) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(204);
  make();
  webhooks_->start();
  waits_.run(now());
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(WebhooksTest, AFormerSecretSignsForAWhile) {
  core::Register bo = an_agent("bo");
  bo.webhook = "https://example.org/wake";
  bo.webhook_secret = token_of("fresh");
  act(core::broker_name, bo);
  act("ana", a_send("ana", "m1").to("bo"));
  const auto signatures = [this](size_t n) {
    const std::string text = asked_[n].headers()[2].second;
    return std::ranges::count(text, ' ') + 1;
  };
  EXPECT_EQ(signatures(0), 2);
  answer(204);
  pass(base::hours(25));
  act("bo", core::Read{target("m1")});
  act("ana", a_send("ana", "m2").to("bo"));
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(signatures(1), 1);
}

// Else one agent that changes it in a loop has all threads of the poster.
TEST_F(WebhooksTest, OneThatIsSetAgainDuringARequestHasNoSecondOneUntilThatEnds) {
  act("ana", a_send("ana", "m1").to("bo"));
  ASSERT_EQ(asked_.size(), 1u);
  core::Register bo = an_agent("bo");
  for (const std::string_view url : {"https://a.example/", "https://b.example/"}) {
    bo.webhook = url;
    bo.webhook_secret = token_of("secret");
    act(core::broker_name, bo);
  }
  EXPECT_EQ(asked_.size(), 1u);
  answer(0);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_.back().url, "https://b.example/");
  answer(204);
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(WebhooksTest, OneThatIsTakenAwayIsToldNothing) {
  act("ana", a_send("ana", "m1").to("bo"));
  answer(500);
  act(core::broker_name, an_agent("bo"));
  pass(base::hours(1));
  EXPECT_EQ(asked_.size(), 1u);
  act(core::broker_name, core::Unregister{"bo"});
  pass(base::hours(1));
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(WebhooksTest, WhoHasNoneIsNotLookedAfter) {
  act("bo", a_send("bo", "m1").to("ana"));
  EXPECT_EQ(waits_.next(), base::time_max);
}

TEST_F(WebhooksTest, TheEventSaysWhoseMailWaitsAndHowMuch) {
  act("ana", a_send("ana", "m1").to("bo"));
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_TRUE(
      asked_[0].body.ends_with(R"("data":{"agent":"bo","workspace":"default","unsettled":1}})"))
      << asked_[0].body;
}

TEST_F(WebhooksTest, SaysWhenItWasTriedAndNotWhenItWillBeAgain) {
  act("ana", a_send("ana", "m1").to("bo"));
  EXPECT_EQ(shown().find("last_attempt"), std::string::npos) << shown();
  pass(base::seconds(5));
  const std::string tried = "\"last_attempt\":\"" + base::format_time(now()) + "\"";
  answer(500);
  EXPECT_GT(waits_.next(), now());
  EXPECT_NE(shown().find(tried), std::string::npos) << shown();
  EXPECT_EQ(shown().find("last_success"), std::string::npos) << shown();
}

// Made with another program: HMAC-SHA256 of `id.1.body` with a key of 32 times the byte 7.
TEST(WebhookSignature, IsThatOfStandardWebhooks) {
  core::WebhookSecret secret{};
  secret.fill(7);
  EXPECT_EQ(secret_text(secret), "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
  const net::Headers headers = signed_headers("id", base::Time{1'999'999}, "body", {&secret, 1});
  const net::Headers expected = {
      {"webhook-id", "id"},
      {"webhook-timestamp", "1"},
      {"webhook-signature", "v1,+v4tVxnc/P/VKbxw8/MNp3dgjHTZUgidJOBXif4+ziA="}};
  EXPECT_EQ(headers, expected);
}

TEST(Reach, LetsThroughWhatIsPublicOrAllowed) {
  Reach reach;
  EXPECT_TRUE(reach.check("https://example.org/wake?x=1"));
  EXPECT_TRUE(reach.check("https://8.8.8.8:8443"));
  EXPECT_FALSE(reach.check("http://8.8.8.8/"));
  EXPECT_FALSE(reach.check("https://10.1.2.3/"));
  EXPECT_FALSE(reach.check("http://localhost:80/"));
  reach.allowed = {*net::Network::parse("10.0.0.0/8"), *net::Network::parse("127.0.0.0/8")};
  EXPECT_TRUE(reach.check("https://10.1.2.3/"));
  EXPECT_FALSE(reach.check("http://10.1.2.3/"));
  EXPECT_TRUE(reach.check("http://localhost:80/"));
  EXPECT_FALSE(reach.check("http://[::1]/"));
  for (const char* url : {"", "https:/x", "https://", "https://a@b/", "https://b/#f", "wss://b/",
                          "https://b:0/", "https://b:65536/", "https://b?x", "https://b\\@c/",
                          "https://b/a b", "https://b/a\r\nX-Evil: 1", "https://b/\x7f"}) {
    EXPECT_FALSE(reach.check(url)) << url;
  }
}

}  // namespace
}  // namespace parley::edge
