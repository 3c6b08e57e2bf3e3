// SPDX-License-Identifier: Apache-2.0
#include "node/records/recent_records.h"

#include <gtest/gtest.h>

#include <string>

namespace parley::node {
namespace {

using base::Seq;

TEST(RecentRecords, FindsWhatWasAddedAndNothingElse) {
  RecentRecords recent(1'000'000);
  EXPECT_EQ(recent.find(Seq{1}), "");
  recent.add(Seq{3}, "three");
  recent.add(Seq{7}, "seven");
  EXPECT_EQ(recent.find(Seq{3}), "three");
  EXPECT_EQ(recent.find(Seq{7}), "seven");
  for (const uint64_t n : {0, 1, 2, 4, 6, 8}) {
    EXPECT_EQ(recent.find(Seq{n}), "") << n;
  }
}

TEST(RecentRecords, OldestGoFirstAndTheNewestStay) {
  constexpr size_t bytes_max = 1'000'000;
  RecentRecords recent(bytes_max);
  const std::string payload(10'000, 'x');
  for (uint64_t n = 1; n <= 1'000; ++n) {
    recent.add(Seq{n}, payload + std::to_string(n));
  }
  size_t held = 0;
  bool seen_one = false;
  for (uint64_t n = 1; n <= 1'000; ++n) {
    const std::string_view found = recent.find(Seq{n});
    EXPECT_FALSE(seen_one && found.empty()) << n << " is gone, but an older one is not";
    seen_one |= !found.empty();
    held += found.size();
    EXPECT_TRUE(found.empty() || found == payload + std::to_string(n)) << n;
  }
  EXPECT_LE(held, bytes_max);
  EXPECT_GE(held, bytes_max / 2);
}

TEST(RecentRecords, RecordLargerThanAChunkIsKept) {
  RecentRecords recent(2'000'000);
  const std::string large(700'000, 'y');
  recent.add(Seq{1}, "small");
  recent.add(Seq{2}, large);
  recent.add(Seq{3}, "after");
  EXPECT_EQ(recent.find(Seq{1}), "small");
  EXPECT_EQ(recent.find(Seq{2}), large);
  EXPECT_EQ(recent.find(Seq{3}), "after");
}

TEST(RecentRecords, RecordLargerThanAllIsLeftOut) {
  RecentRecords recent(100);
  recent.add(Seq{1}, "small");
  recent.add(Seq{2}, std::string(101, 'z'));
  EXPECT_EQ(recent.find(Seq{1}), "small");
  EXPECT_EQ(recent.find(Seq{2}), "");
}

}  // namespace
}  // namespace parley::node
