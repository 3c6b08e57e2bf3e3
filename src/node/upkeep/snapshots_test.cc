// SPDX-License-Identifier: Apache-2.0
#include "node/upkeep/snapshots.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"
#include "journal/memory.h"

namespace parley::node {
namespace {

using base::Seq;
using core::testing::an_agent;

// A journal in memory that is written to without a node: what a machine would have applied.
struct Bench {
  base::ManualClock clock{core::testing::start_time};
  journal::MemoryLog log{clock};
  journal::MemoryJournal journal{log};
  size_t written = 0;

  Seq write(Snapshots& snapshots) {
    const std::string name = "agent-" + std::to_string(++written);
    core::Entry entry;
    entry.id = {1, written};
    entry.workspace = core::workspace_first;
    entry.command = an_agent(name);
    std::string payload;
    core::encode(entry, payload);
    const std::string_view view = payload;
    EXPECT_TRUE(journal.append(std::span(&view, 1), journal::Sync::no));
    snapshots.applied(payload.size());
    EXPECT_TRUE(snapshots.keep(journal.last()));
    return journal.last();
  }
};

TEST(Snapshots, WithoutOneTheMachineIsNew) {
  Bench bench;
  Snapshots snapshots(bench.journal, {});
  const auto machine = snapshots.restore();
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->seq(), Seq{});
  EXPECT_EQ(machine->digest(), core::Machine(0).digest());
}

TEST(Snapshots, OneIsStoredWhenEnoughWasWrittenAndCanBeRestored) {
  Bench bench;
  Snapshots snapshots(bench.journal, {.bytes_min = 200});
  while (bench.journal.snapshot_seq() == Seq{} && bench.written < 100) {
    bench.write(snapshots);
  }
  const Seq stored = bench.journal.snapshot_seq();
  EXPECT_GT(stored, Seq{1});
  EXPECT_EQ(stored, bench.journal.last());
  // The next one is not due before four times its bytes were written.
  bench.write(snapshots);
  EXPECT_EQ(bench.journal.snapshot_seq(), stored);
  const auto machine = Snapshots(bench.journal, {}).restore();
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->seq(), stored);
  EXPECT_EQ(machine->find(core::workspace_first)->tables().agents.registered(), stored.n);
}

TEST(Snapshots, OneThatIsDueWaitsForTheViewAtItsPlace) {
  Bench bench;
  Seq view;
  Snapshots snapshots(bench.journal, {.bytes_min = 1, .view_position = [&] { return view; }});
  const Seq due = bench.write(snapshots);
  bench.write(snapshots);
  EXPECT_EQ(bench.journal.snapshot_seq(), Seq{});
  view = due;
  bench.write(snapshots);
  EXPECT_EQ(bench.journal.snapshot_seq(), due);
}

TEST(Snapshots, AFailureIsToldUntilOneIsStored) {
  Bench bench;
  size_t warned = 0;
  Snapshots snapshots(bench.journal,
                      {.bytes_min = 1, .warn = [&](const base::Error&) { ++warned; }});
  const std::string_view nonsense = "nonsense";
  ASSERT_TRUE(bench.journal.append(std::span(&nonsense, 1), journal::Sync::no));
  bench.write(snapshots);
  ASSERT_TRUE(snapshots.trouble()) << "what cannot be decoded cannot be replayed";
  EXPECT_EQ(warned, 1u);
  EXPECT_EQ(bench.journal.snapshot_seq(), Seq{});
  EXPECT_EQ(bench.log.records_held(), 2u) << "the records are kept";
}

}  // namespace
}  // namespace parley::node
