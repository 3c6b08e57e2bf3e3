// SPDX-License-Identifier: Apache-2.0
#include "node/broker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/machine/testing.h"
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

// A broker on a journal in memory, with the options that a test sets before `start`.
struct Bench {
  base::ManualClock clock{core::testing::start_time};
  journal::MemoryLog log{clock};
  journal::MemoryJournal journal{log};
  Node::Options options{.clock = &clock};
  std::unique_ptr<Broker> broker;

  void start() { broker = std::move(*Broker::start(journal, options)); }
  void step() { ASSERT_TRUE(broker->step(clock.now())); }
  void ask(std::string_view actor, core::Command command) {
    broker->ask(workspace_first, actor, std::move(command), ignore);
  }
  const core::Tables& tables() const { return broker->machine().find(workspace_first)->tables(); }

  static void ignore(const core::Outcome&, std::span<const core::Effect>) {}
};

// Else messages are handed to a connection that is gone, until the broker starts again.
TEST(Broker, StreamThatCouldNotBeClosedIsClosedLater) {
  Bench bench;
  bench.options.mailbox.commands_max = 2;
  bench.start();
  bench.step();
  bench.ask(core::broker_name, an_agent("ana"));
  bench.step();
  Reader reader;
  const core::StreamId stream =
      bench.broker->open(workspace_first, "ana", {.window = 1}, reader, Bench::ignore);
  bench.step();
  const auto is_open = [&] { return bench.tables().streams.find(stream) != core::none; };
  ASSERT_TRUE(is_open());
  bench.ask("ana", core::Heartbeat{});
  bench.ask("ana", core::Heartbeat{});
  bench.broker->close(workspace_first, stream);
  bench.step();
  EXPECT_TRUE(is_open());  // there was no room for it
  EXPECT_LE(bench.broker->next_deadline(), bench.clock.now() + base::seconds(1));
  bench.clock.advance(base::seconds(1));
  EXPECT_TRUE(bench.broker->has_work(bench.clock.now()));
  bench.step();
  EXPECT_FALSE(is_open());
}

// What the broker owes is about messages of any size and age: the journal's thread reads them.
TEST(Broker, WhatIsOwedReadsNothingOnTheLoop) {
  Bench bench;
  bench.options.records.recent_bytes_max = 0;
  bench.start();
  bench.broker->send_outbox([](const core::OutboxItem&) { return std::string("{}"); });
  bench.ask(core::broker_name, an_agent("ana"));
  bench.step();
  for (int n = 0; n < 30; ++n) {
    bench.ask("ana", a_send("ana", "m" + std::to_string(n)).to("nobody").send);
  }
  bench.step();
  const core::Outbox& owed = bench.tables().outbox;
  EXPECT_EQ(owed.size(), 30u);
  for (int n = 0; n < 5 && owed.size() > 0; ++n) {
    bench.step();
  }
  EXPECT_EQ(owed.size(), 0u);
  EXPECT_EQ(bench.broker->records().cold_reads(), 0u);
  EXPECT_EQ(bench.broker->records().warmed(), 30u);
}

// Thousands of messages of one sender expire at once, far more than may be owed to it: it is told
// of each, or how many more there were.
TEST(Broker, WhatIsTooMuchIsSummedUp) {
  constexpr size_t many = 3'000;
  Bench bench;
  bench.start();
  // The body says of how many failures it tells.
  bench.broker->send_outbox([&](const core::OutboxItem& item) {
    const auto failed = std::ranges::find(item.facts, "delivery_failed", &core::Fact::name);
    return std::to_string(failed == item.facts.end() ? 1 : std::get<int64_t>(failed->value));
  });
  size_t told = 0;
  bench.broker->observe([&](const core::Entry& entry, const core::Outcome& outcome, auto) {
    const auto* send = std::get_if<core::Send>(&entry.command);
    if (send != nullptr && send->outbox_item != 0 && outcome) {
      told += std::stoul(std::string(send->envelope.body));
    }
  });
  for (const std::string_view name : {"ana", "bo", "cy"}) {
    bench.ask(core::broker_name, an_agent(name));
  }
  bench.step();
  bench.ask(core::broker_name, core::SetRules{{{"errands_max", "1000"},
                                               {"queue_max", "10000"},
                                               {"flow.rate.agent_out_per_min", "0"},
                                               {"flow.rate.agent_in_per_min", "0"},
                                               {"flow.rate.pair_per_min", "0"}}});
  bench.step();
  const auto send = [&](std::string_view from, size_t n) {
    core::Send brief = a_send(from, "m" + std::to_string(n)).to("bo").send;
    brief.envelope.ttl = base::seconds(1);
    bench.ask(from, std::move(brief));
  };
  for (size_t n = 0; n < many; ++n) {
    send("ana", n);
    if (n % 100 == 0) {
      bench.step();
    }
  }
  send("cy", many);
  bench.step();
  ASSERT_EQ(bench.tables().load_of(bench.tables().agents.find("bo")), many + 1);
  bench.clock.advance(base::seconds(2));
  bench.ask("bo", core::Take{1});  // which finds nothing but what has expired
  size_t steps = 0;
  for (; bench.broker->has_work(bench.clock.now()) && steps < 1'000; ++steps) {
    bench.step();
    ASSERT_LE(bench.tables().outbox.size(), 1'000u / 8 + 2);
  }
  EXPECT_LT(steps, 1'000u);
  EXPECT_EQ(bench.tables().outbox.size(), 0u);
  EXPECT_EQ(bench.tables().outbox.dropped, 0u);
  EXPECT_EQ(bench.tables().load_of(bench.tables().agents.find("cy")), 1u);
  EXPECT_EQ(told, many + 1);
}

}  // namespace
}  // namespace parley::node
