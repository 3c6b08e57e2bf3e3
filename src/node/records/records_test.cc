// SPDX-License-Identifier: Apache-2.0
#include "node/records/records.h"

#include <gtest/gtest.h>

#include "journal/memory.h"

namespace parley::node {
namespace {

using base::Seq;

// Records on a journal in memory, of which the first `count` are written.
struct Bench {
  base::ManualClock clock{base::Time{1}};
  journal::MemoryLog log{clock};
  journal::MemoryJournal journal{log};
  Records records;

  explicit Bench(size_t count, const Records::Limits& limits = {}) : records(journal, limits) {
    for (size_t n = 1; n <= count; ++n) {
      const std::string payload = "record " + std::to_string(n);
      const std::string_view view = payload;
      EXPECT_TRUE(journal.append(std::span(&view, 1), journal::Sync::no));
    }
  }
};

TEST(Records, AreReadFromTheDiskOnlyWhereTheyAreNotInMemory) {
  Bench bench(2);
  bench.records.add(Seq{2}, "record 2");
  EXPECT_EQ(bench.records.read(Seq{2}), "record 2");
  EXPECT_EQ(bench.records.cold_reads(), 0u);
  EXPECT_EQ(bench.records.read(Seq{1}), "record 1");
  EXPECT_FALSE(bench.records.read(Seq{3}));
  EXPECT_EQ(bench.records.cold_reads(), 2u);
}

// A batch may follow from one old message a thousand times.
TEST(Records, OneThatWasReadIsKeptForWhoAsksAgain) {
  Bench bench(2, {.recent_bytes_max = 0, .warm_bytes_max = 8});
  EXPECT_EQ(bench.records.read(Seq{1}), "record 1");
  EXPECT_EQ(bench.records.read(Seq{1}), "record 1");
  EXPECT_EQ(bench.records.cold_reads(), 1u);
  EXPECT_EQ(bench.records.cold_bytes(), 8u);
  EXPECT_EQ(bench.records.read(Seq{2}), "record 2");
  EXPECT_FALSE(bench.records.is_warm(Seq{1})) << "no more is kept than the limit";
}

TEST(Records, WhoWarmsSeveralIsToldOnceInTheOrderOfAsking) {
  Bench bench(5);
  std::vector<int> told;
  bench.records.warm({Seq{1}, Seq{2}}, [&] { told.push_back(1); });
  bench.records.warm({Seq{3}, Seq{99}}, [&] { told.push_back(2); });  // one of them is not there
  bench.records.warm({Seq{}}, [&] { told.push_back(3); });  // no record: nothing to wait for
  EXPECT_EQ(told, (std::vector<int>{3}));
  EXPECT_TRUE(bench.records.has_fetched());
  bench.records.take_fetched();
  EXPECT_EQ(told, (std::vector<int>{3, 1, 2}));
  EXPECT_FALSE(bench.records.has_fetched());
  EXPECT_EQ(bench.records.warmed(), 3u);
  EXPECT_EQ(bench.records.read(Seq{3}), "record 3");
  EXPECT_EQ(bench.records.cold_reads(), 0u);
}

// A stream that opens over much old mail asks for the next part as soon as it has the first.
TEST(Records, WhoIsToldMayAskForMoreFromWithin) {
  Bench bench(3, {.recent_bytes_max = 0, .warm_bytes_max = 8});
  std::vector<std::string> seen;
  bench.records.warm({Seq{1}}, [&] {
    seen.emplace_back(*bench.records.read(Seq{1}));
    bench.records.warm({Seq{2}}, [&] { seen.emplace_back(*bench.records.read(Seq{2})); });
  });
  bench.records.take_fetched();
  bench.records.take_fetched();
  EXPECT_EQ(seen, (std::vector<std::string>{"record 1", "record 2"}));
  EXPECT_FALSE(bench.records.is_warm(Seq{1})) << "there is room for one";
}

}  // namespace
}  // namespace parley::node
