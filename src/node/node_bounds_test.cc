// SPDX-License-Identifier: Apache-2.0
// What a node keeps to whatever comes: the length of a step, the pace of time, what it stores.
#include "base/clock/paced_clock.h"
#include "node/node_test.h"

namespace parley::node {
namespace {

// A step takes a bounded time, however much it finds to apply; what is told stays in order, and
// each is told once.
TEST(Node, WhatAStepHasNoTimeForIsLeftToTheNext) {
  // Each look at the clock takes a millisecond.
  class Ticking final : public base::Clock {
   public:
    Time now() override { return at_ = at_ + base::milliseconds(1); }

   private:
    Time at_;
  } steady;
  Bench bench;
  bench.options.steady = &steady;
  bench.options.apply_max = base::milliseconds(10);
  bench.restart();
  bench.register_both();
  std::vector<Ticket> tickets;
  for (int n = 0; n < 95; ++n) {
    tickets.push_back(bench.submit("ana", a_send("ana", "m" + std::to_string(n)).to("bo")));
  }
  bench.notes.order.clear();
  ASSERT_TRUE(bench.step());
  EXPECT_EQ(bench.notes.order.size(), 10u);
  EXPECT_TRUE(bench.node->has_work(bench.clock.now()));
  tickets.push_back(bench.submit("ana", a_send("ana", "later").to("bo")));
  bench.journal.appends.clear();
  for (int n = 0; n < 9; ++n) {
    EXPECT_TRUE(bench.journal.appends.empty()) << "the last batch is not applied yet";
    ASSERT_TRUE(bench.step());
  }
  bench.settle();
  EXPECT_EQ(bench.journal.appends.size(), 1u);
  EXPECT_EQ(bench.notes.order, tickets);
}

// One jump of the machine's clock, forward and back, must not hold up what is due (FL-10 and all
// that has a deadline).
TEST(Node, LeasesEndThoughTheClockWasSetForwardAndBack) {
  base::ManualClock wall(start_time);
  base::ManualClock steady(Time{});
  base::PacedClock clock(wall, steady);
  const auto pass = [&](base::Duration d) {
    wall.advance(d);
    steady.advance(d);
  };
  journal::MemoryLog log(clock);
  TroubledJournal journal(log);
  Notes notes;
  const auto node = Node::start(journal, notes, {}).value();
  const auto ask = [&](std::string_view actor, Command command) {
    EXPECT_TRUE(node->submit(workspace_first, actor, std::move(command)));
    EXPECT_TRUE(node->step(clock.now()));
  };
  for (const char* name : {"ana", "bo"}) {
    ask(broker_name, core::Register(an_agent(name)));
  }
  ask("ana", a_send("ana", "m1").to("bo"));
  wall.advance(base::hours(10));
  for (int n = 0; n < 4; ++n) {  // long enough to be believed
    pass(base::seconds(20));
    EXPECT_TRUE(node->step(clock.now()));
  }
  EXPECT_EQ(clock.jumps(), 1);
  wall.advance(base::Duration{-base::hours(10).us});
  ask("bo", core::Take{1});
  ASSERT_EQ(notes.delivered.size(), 1u);
  pass(base::seconds(54));
  EXPECT_FALSE(node->has_work(clock.now()));
  pass(base::seconds(13));  // 67 s at nine tenths are more than the 60 s of a lease
  EXPECT_TRUE(node->has_work(clock.now()));
  EXPECT_TRUE(node->step(clock.now()));
  ask("bo", core::Take{1});
  EXPECT_EQ(notes.delivered.size(), 2u);
}

TEST(Node, RecordsAreWarmBeforeTheyAreLookedAt) {
  Bench bench;
  bench.options.records.recent_bytes_max = 0;
  bench.restart();
  bench.register_both();
  std::vector<Seq> seqs;
  for (const char* name : {"m1", "m2", "m3"}) {
    seqs.push_back(bench.ask("ana", a_send("ana", name).to("bo").body(name))->message);
  }
  seqs.push_back(Seq{9'999});  // not there: whoever looks at it is told so
  size_t told = 0;
  bench.node->records().warm(seqs, [&told] { ++told; });
  EXPECT_EQ(told, 0u);
  EXPECT_TRUE(bench.node->has_work(bench.clock.now()));
  ASSERT_TRUE(bench.step());
  EXPECT_EQ(told, 1u);
  const size_t fetches = bench.journal.fetches;
  EXPECT_NE(bench.node->records().read(seqs[1])->find("m2"), std::string_view::npos);
  seqs.pop_back();
  bench.node->records().warm(seqs, [&told] { ++told; });
  EXPECT_EQ(told, 2u) << "they are there";
  EXPECT_EQ(bench.journal.fetches, fetches);
  EXPECT_EQ(bench.node->records().cold_reads(), 0u);
  EXPECT_FALSE(bench.node->records().read(Seq{9'999}).has_value());
  EXPECT_EQ(bench.node->records().cold_reads(), 1u);
}

// A defect of the machine must not cost what the records still have.
TEST(Node, SnapshotThatCannotBeRestoredIsReportedAndTheRecordsAreKept) {
  Bench bench;
  bench.options.snapshot_bytes_min = 2'000;
  std::vector<std::string> warned;
  bench.options.warn = [&warned](const Error& error) { warned.push_back(error.detail); };
  bench.restart();
  bench.register_both();
  const Seq before = bench.journal.snapshot_seq();
  const size_t held = bench.log.records_held();
  bench.journal.bend_snapshot = [](std::string& state) { state.pop_back(); };
  for (int n = 0; n < 40; ++n) {
    bench.ask("ana", a_send("ana", std::to_string(n)).to("bo").body(std::string(100, 'b')));
  }
  EXPECT_EQ(bench.journal.snapshot_seq(), before);
  EXPECT_EQ(bench.log.records_held(), held + 40);
  ASSERT_TRUE(bench.node->warnings().snapshot);
  EXPECT_EQ(bench.node->warnings().snapshot->code, Code::malformed_record);
  EXPECT_FALSE(bench.node->trouble()) << "nothing is refused";
  ASSERT_FALSE(warned.empty());
  EXPECT_NE(warned.front().find("the records since then are kept"), std::string::npos);

  const uint64_t digest = bench.node->machine().digest();
  bench.notes.outcomes.clear();
  bench.journal.bend_snapshot = nullptr;
  bench.restart();
  EXPECT_EQ(bench.node->machine().digest(), digest);
  bench.settle();
  EXPECT_GT(bench.journal.snapshot_seq(), before);
  EXPECT_FALSE(bench.node->warnings().snapshot);
}

}  // namespace
}  // namespace parley::node
