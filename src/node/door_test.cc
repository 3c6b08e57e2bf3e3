// SPDX-License-Identifier: Apache-2.0
// What the broker refuses before it is written.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/machine/testing.h"
#include "journal/memory.h"
#include "node/broker.h"

namespace parley::node {
namespace {

using base::Code;
using core::workspace_first;
using core::testing::a_send;
using core::testing::an_agent;

class Door : public testing::Test {
 public:
  Door() {
    Node::Options options;
    options.clock = &clock_;
    broker_ = std::move(*Broker::start(journal_, options));
    broker_->observe_refusals([this](const core::Entry&, const core::Outcome&) { ++at_the_door_; });
    step();
    for (const std::string_view name : {"ana", "bo", "cy"}) {
      ask(core::broker_name, an_agent(name));
    }
    ask(core::broker_name, core::SetRules{{{"guard.messages_per_day", "1"}}});
    step();
    told_.clear();
  }

  // What is told of it goes to the end of `told_`.
  void ask(std::string_view actor, core::Command command) {
    broker_->ask(workspace_first, actor, std::move(command),
                 [this](const core::Outcome& outcome, std::span<const core::Effect>) {
                   told_.push_back(outcome ? Code::not_found : outcome.error().code);
                 });
  }
  void step() { ASSERT_TRUE(broker_->step(clock_.now())); }

  static constexpr Code accepted = Code::not_found;

 protected:
  base::ManualClock clock_{core::testing::start_time};
  journal::MemoryLog log_{clock_};
  journal::MemoryJournal journal_{log_};
  std::unique_ptr<Broker> broker_;
  std::vector<Code> told_;
  int at_the_door_ = 0;
};

TEST_F(Door, AFloodOfRefusedCallsIsNotWritten) {
  ask("ana", a_send("ana", "m1").to("bo"));
  step();
  const base::Seq before = journal_.last();
  for (int n = 0; n < 1'000; ++n) {
    ask("ana", a_send("ana", "m2").to("bo"));
    step();
  }
  EXPECT_EQ(journal_.last(), before);
  EXPECT_EQ(at_the_door_, 1'000);
  EXPECT_EQ(told_.size(), 1'001u);
  EXPECT_EQ(told_.back(), Code::budget_exceeded);
}

// What the same caller asked before and is not told of yet may change what is allowed: it is asked
// inside, behind that, and the answers keep their order.
TEST_F(Door, WhoWaitsForAnAnswerIsHeardInside) {
  ask("ana", a_send("ana", "m1").to("bo"));
  ask("ana", core::Ack{core::testing::target("none"), {}});
  EXPECT_TRUE(told_.empty());
  step();
  EXPECT_EQ(told_.size(), 2u);
  EXPECT_EQ(at_the_door_, 0);
  ask("ana", core::Ack{core::testing::target("none"), {}});
  EXPECT_EQ(at_the_door_, 1);
}

// Else one sign of life in front of a thousand refused calls has them all written.
TEST_F(Door, AHeartbeatOnItsWayLetsNobodyIn) {
  ask("ana", core::Heartbeat{});
  ask("ana", core::StopWaiting{base::Seq{1}});
  ask("ana", core::Ack{core::testing::target("none"), {}});
  EXPECT_EQ(at_the_door_, 1);
  // Who reads may nack then.
  ask("ana", a_send("ana", "m1").to("bo"));
  step();
  ask("bo", core::Read{core::testing::target("m1")});
  ask("bo", core::Nack{.target = core::testing::target("m1")});
  EXPECT_EQ(at_the_door_, 1);
  step();
  EXPECT_EQ(told_.back(), accepted);
}

// Others that wait are no reason: none of them was told yet, so this may have come before them.
TEST_F(Door, WhatOthersWaitForLetsNobodyIn) {
  ask("ana", a_send("ana", "m1").to("bo"));
  step();
  ask("cy", a_send("cy", "m3").to("bo"));
  ask("ana", a_send("ana", "m2").to("bo"));
  EXPECT_EQ(at_the_door_, 1);
  step();
  EXPECT_EQ(told_, (std::vector<Code>{accepted, Code::budget_exceeded, accepted}));
}

// Who never waits for an answer would otherwise have everything written: what it asked before can
// only add to what it has had stored.
TEST_F(Door, WhoHasHadTooMuchStoredIsRefusedThoughOthersOfItsAreOnTheirWay) {
  ask(core::broker_name,
      core::SetRules{{{"guard.messages_per_day", "0"}, {"guard.bytes_per_day", "1000"}}});
  step();
  const std::string body(2'000, 'x');
  ask("ana", a_send("ana", "m1").to("bo").body(body));
  step();
  ask("ana", core::Take{1});  // passes, and is not told yet
  const base::Seq before = journal_.last();
  ask("ana", a_send("ana", "m2").to("bo").body(body));
  EXPECT_EQ(at_the_door_, 1);
  EXPECT_EQ(told_.back(), Code::budget_exceeded);
  step();
  EXPECT_EQ(journal_.last().n, before.n + 1);
}

// A burst that is sent in one go passes no further than one message at a time would.
TEST_F(Door, WhatIsOnItsWayCountsForWhatIsStored) {
  ask(core::broker_name,
      core::SetRules{{{"guard.messages_per_day", "0"}, {"guard.bytes_per_day", "10000"}}});
  step();
  const base::Seq before = journal_.last();
  const std::string body(2'000, 'x');
  for (int n = 0; n < 100; ++n) {
    ask("ana", a_send("ana", "m" + std::to_string(n)).to("bo").body(body));
  }
  EXPECT_EQ(at_the_door_, 95);
  step();
  EXPECT_EQ(journal_.last().n, before.n + 5);
  EXPECT_EQ(std::ranges::count(told_, accepted), 6) << "the rules, and five messages";
}

}  // namespace
}  // namespace parley::node
