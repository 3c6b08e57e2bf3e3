// SPDX-License-Identifier: Apache-2.0
#include "node/broker.h"

#include <gtest/gtest.h>

#include "core/testing.h"
#include "journal/memory.h"

namespace parley::node {
namespace {

using core::workspace_first;
using core::testing::a_send;
using core::testing::an_agent;

class Reader final : public Receiver {
 public:
  void deliver(const core::Deliver&, const core::Envelope*) override {}
  void stream_closed() override {}
};

// Else messages are handed to a connection that is gone, until the broker starts again.
TEST(Broker, StreamThatCouldNotBeClosedIsClosedLater) {
  base::ManualClock clock{core::testing::start_time};
  journal::MemoryLog log{clock};
  journal::MemoryJournal journal{log};
  Node::Options options;
  options.clock = &clock;
  options.mailbox.commands_max = 2;
  const auto broker = std::move(*Broker::start(journal, options));
  const auto step = [&] { ASSERT_TRUE(broker->step(clock.now())); };
  const auto ignore = [](const core::Outcome&, std::span<const core::Effect>) {};
  step();
  broker->ask(workspace_first, core::broker_name, an_agent("ana"), ignore);
  step();
  Reader reader;
  const core::StreamId stream =
      broker->open(workspace_first, "ana", {.window = 1}, reader, ignore);
  step();
  const auto is_open = [&] {
    return broker->machine().find(workspace_first)->tables().streams.find(stream) != core::none;
  };
  ASSERT_TRUE(is_open());
  broker->ask(workspace_first, "ana", core::Heartbeat{}, ignore);
  broker->ask(workspace_first, "ana", core::Heartbeat{}, ignore);
  broker->close(workspace_first, stream);
  step();
  EXPECT_TRUE(is_open());  // there was no room for it
  EXPECT_LE(broker->next_deadline(), clock.now() + base::seconds(1));
  clock.advance(base::seconds(1));
  EXPECT_TRUE(broker->has_work(clock.now()));
  step();
  EXPECT_FALSE(is_open());
}

// What the broker owes is about messages of any size and age: the journal's thread reads them.
TEST(Broker, WhatIsOwedReadsNothingOnTheLoop) {
  base::ManualClock clock{core::testing::start_time};
  journal::MemoryLog log{clock};
  journal::MemoryJournal journal{log};
  Node::Options options;
  options.clock = &clock;
  options.fresh_bytes_max = 0;
  const auto broker = std::move(*Broker::start(journal, options));
  broker->run_errands([](const core::Errand&) { return std::string("{}"); });
  const auto ignore = [](const core::Outcome&, std::span<const core::Effect>) {};
  broker->ask(workspace_first, core::broker_name, an_agent("ana"), ignore);
  ASSERT_TRUE(broker->step(clock.now()));
  const core::Errands& owed = broker->machine().find(workspace_first)->tables().errands;
  for (int n = 0; n < 30; ++n) {
    broker->ask(workspace_first, "ana", a_send("ana", "m" + std::to_string(n)).to("nobody").send,
                ignore);
  }
  ASSERT_TRUE(broker->step(clock.now()));
  EXPECT_EQ(owed.all().size(), 30u);
  for (int n = 0; n < 5 && !owed.all().empty(); ++n) {
    ASSERT_TRUE(broker->step(clock.now()));
  }
  EXPECT_EQ(owed.all().size(), 0u);
  EXPECT_EQ(broker->cold_reads(), 0u);
  EXPECT_EQ(broker->warmed(), 30u);
}

// Many calls of one client wait for the same, and hang up at once, the newest first: each
// leaves alone. This takes 0.15 s; looking at all of the others each time took a minute.
TEST(Broker, ThoseWhoWaitLeaveOneByOne) {
  base::ManualClock clock{core::testing::start_time};
  journal::MemoryLog log{clock};
  journal::MemoryJournal journal{log};
  Node::Options options;
  options.clock = &clock;
  const auto broker = std::move(*Broker::start(journal, options));
  std::vector<Broker::Waiter> waiters;
  for (int n = 0; n < 200'000; ++n) {
    waiters.push_back(broker->on_mail(workspace_first, 1, [] {}));
    waiters.push_back(broker->on_answer(workspace_first, base::Seq{1}, [](Broker::Answer) {}));
  }
  while (waiters.size() > 1) {
    broker->forget(waiters.back());
    waiters.pop_back();
    ASSERT_TRUE(broker->is_awaited(workspace_first, 1));
  }
  broker->forget(waiters.back());
  EXPECT_FALSE(broker->is_awaited(workspace_first, 1));
}

}  // namespace
}  // namespace parley::node
