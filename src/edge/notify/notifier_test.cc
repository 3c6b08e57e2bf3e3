// SPDX-License-Identifier: Apache-2.0
// SQ-08: which places are told that people are wanted, how often, and in which order.
#include "edge/notify/notifier.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/machine/testing.h"
#include "edge/files/tree_test.h"
#include "lib/json.h"

namespace parley::edge::notify {
namespace {

using core::testing::a_send;
using core::testing::an_agent;
using core::testing::id_of;

class NotifierTest : public testing::Test {
 protected:
  NotifierTest() { bench_.apply(core::broker_name, an_agent("ana")); }

  void make(std::vector<Target> targets) {
    Notifier::Options options;
    options.targets = std::move(targets);
    options.told_file = scratch_.path + "/notified";
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
    options.send = [this](Poster::Request request, Poster::Done done) {
      asked_.push_back(std::move(request));
      done_.push_back(std::move(done));
      return true;
    };
    notifier_.emplace(
        bench_.machine, waits_, std::move(options),
        Notifier::Environment{.now = [this] { return bench_.now; },
                              .post = [](std::function<void()> work) { work(); },
                              .warm = [](base::Seq, std::function<void()> done) { done(); },
                              .subject = [](base::Seq) { return std::string("the subject"); }});
    notifier_->start();
  }
  // A person passes on what reached nobody.
  void escalate(const char* id, core::Priority priority = core::Priority::critical) {
    ASSERT_TRUE(bench_.apply("ana", a_send("ana", id).to("nobody").urgent(priority)));
    const auto letters = bench_.seen<core::DeadLettered>();
    ASSERT_EQ(letters.size(), 1u);
    ASSERT_TRUE(bench_.apply(core::broker_name,
                             core::ResolveDeadLetter{.id = letters.front().id,
                                                     .resolution = core::Resolution::escalated}));
    notifier_->applied();
  }
  void ask(const char* id, std::vector<std::string_view> approvers = {}) {
    ASSERT_TRUE(bench_.apply("ana", core::AskApproval{.id = id_of(id),
                                                      .summary = "deploy",
                                                      .text = "deploy it",
                                                      .digest = {1},
                                                      .approvers = std::move(approvers)}));
    notifier_->applied();
  }
  void resolve(uint64_t id) {
    ASSERT_TRUE(
        bench_.apply(core::broker_name, core::ResolveEscalation{.id = id, .resolution = "done"}));
    notifier_->applied();
  }
  void answer(int status) {
    const Poster::Done done = std::move(done_.front());
    done_.erase(done_.begin());
    done({.status = status, .error = status == 200 ? "" : "HTTP " + std::to_string(status)});
  }
  void pass(base::Duration duration) {
    bench_.now = bench_.now + duration;
    waits_.run(bench_.now);
  }
  // What the nth request is about: `escalation 2`.
  std::string about(size_t n) const {
    lib::JsonDocument document;
    const auto json = document.parse(asked_.at(n).body);
    const lib::Json data = json->find("data");
    return data.find("escalation") ? "escalation " + std::string(data.find("escalation").raw())
                                   : "approval " + std::string(data.find("approval").raw());
  }

  files::Scratch scratch_;
  core::testing::Bench bench_;
  Waits waits_;
  std::vector<Poster::Request> asked_;
  std::vector<Poster::Done> done_;
  std::vector<std::string> warnings_;
  std::optional<Notifier> notifier_;
};

TEST_F(NotifierTest, OneAtATimeInTheOrderInWhichTheyCame) {
  make({{.url = "https://example.org/a"}});
  escalate("m1");
  escalate("m2");
  ask("a1");
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(about(0), "escalation 1");
  answer(200);
  answer(200);
  ASSERT_EQ(asked_.size(), 3u);
  EXPECT_EQ(about(1), "escalation 2");
  EXPECT_EQ(about(2), "approval 1");
  answer(200);
  EXPECT_EQ(notifier_->sent(), 3u);
  EXPECT_EQ(asked_.size(), 3u);
}

TEST_F(NotifierTest, AFailureIsTriedAgainWithPausesThatDouble) {
  make({{.url = "https://example.org/secret-path"}});
  escalate("m1");
  answer(500);
  EXPECT_EQ(asked_.size(), 1u);
  pass(base::seconds(1));
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].body, asked_[0].body);
  EXPECT_TRUE(asked_[1].failed_before);
  answer(0);
  pass(base::milliseconds(1'900));
  EXPECT_EQ(asked_.size(), 2u);
  pass(base::milliseconds(100));
  ASSERT_EQ(asked_.size(), 3u);
  answer(200);
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_EQ(warnings_[0],
            "the notification at https://example.org fails and is tried again: HTTP 500");
  EXPECT_EQ(warnings_[1], "the notification at https://example.org works again");
  EXPECT_EQ(notifier_->failures(), 2u);
}

TEST_F(NotifierTest, WhatIsSettledMeanwhileIsNotTold) {
  make({{.url = "https://example.org"}});
  escalate("m1");
  escalate("m2");
  escalate("m3");
  resolve(2);
  answer(500);
  resolve(1);
  pass(base::seconds(1));
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(about(1), "escalation 3");
}

TEST_F(NotifierTest, ATargetThatFailsHoldsUpNoOther) {
  make({{.url = "https://one.example"}, {.url = "https://two.example"}});
  escalate("m1");
  escalate("m2");
  ASSERT_EQ(asked_.size(), 2u);
  answer(500);
  answer(200);
  ASSERT_EQ(asked_.size(), 3u);
  EXPECT_EQ(asked_[2].url, "https://two.example");
}

TEST_F(NotifierTest, EachTargetHearsWhatItWants) {
  make({{.url = "https://approvals.example", .escalations = false},
        {.url = "https://p0.example", .only_p0 = true},
        {.url = "https://mia.example", .escalations = false, .for_whom = "human:mia"}});
  escalate("m1", core::Priority::normal);
  EXPECT_TRUE(asked_.empty());
  escalate("m2");
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].url, "https://p0.example");
  ask("a1");
  ASSERT_EQ(asked_.size(), 3u);
  EXPECT_EQ(asked_[1].url, "https://approvals.example");
  EXPECT_EQ(asked_[2].url, "https://mia.example");
}

TEST_F(NotifierTest, AnApprovalOfOthersIsNotForWhomItIsNot) {
  core::Register leo = an_agent("human:leo");
  leo.kind = core::PrincipalKind::human;
  leo.rights = {"approver"};
  bench_.apply(core::broker_name, leo);
  make({{.url = "https://mia.example", .for_whom = "human:mia"},
        {.url = "https://leo.example", .for_whom = "human:leo"}});
  ask("a1", {"human:leo"});
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].url, "https://leo.example");
}

TEST_F(NotifierTest, ARestartTellsWhatWasNotToldAndNothingElse) {
  make({{.url = "https://example.org"}});
  escalate("m1");
  escalate("m2");
  answer(200);
  ASSERT_EQ(asked_.size(), 2u);  // the second is under way, and its answer is lost
  const std::string lost = asked_[1].body;
  asked_.clear();
  done_.clear();
  make({{.url = "https://example.org"}});
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].body, lost);  // with its id: the receiver can tell
  answer(200);
  make({{.url = "https://example.org"}});
  EXPECT_EQ(asked_.size(), 1u);
  make({{.url = "https://other.example"}});  // it has heard of neither
  EXPECT_EQ(asked_.size(), 2u);
}

TEST(NotifyTold, AFileThatIsBrokenIsNoTroubleAndIsWrittenAnew) {
  const files::Scratch scratch;
  const std::string path = scratch.path + "/notified";
  Told first(path);
  first.add("a", What::escalation, 7);
  first.add("a", What::escalation, 3);  // it never goes back
  first.add("a", What::approval, 2);
  const Told second(path);
  EXPECT_EQ(second.newest("a", What::escalation), 7u);
  EXPECT_EQ(second.newest("a", What::approval), 2u);
  EXPECT_EQ(second.newest("b", What::escalation), 0u);
  std::filesystem::resize_file(path, 5);
  Told third(path);
  EXPECT_EQ(third.newest("a", What::escalation), 0u);
  third.add("b", What::escalation, 1);
  EXPECT_EQ(Told(path).newest("b", What::escalation), 1u);
}

}  // namespace
}  // namespace parley::edge::notify
