// SPDX-License-Identifier: Apache-2.0
#include "node/fresh.h"

#include <gtest/gtest.h>

#include <string>

namespace parley::node {
namespace {

using base::Seq;

TEST(FreshRecords, FindsWhatWasAddedAndNothingElse) {
  FreshRecords fresh(1'000'000);
  EXPECT_EQ(fresh.find(Seq{1}), "");
  fresh.add(Seq{3}, "three");
  fresh.add(Seq{7}, "seven");
  EXPECT_EQ(fresh.find(Seq{3}), "three");
  EXPECT_EQ(fresh.find(Seq{7}), "seven");
  for (const uint64_t n : {0, 1, 2, 4, 6, 8}) {
    EXPECT_EQ(fresh.find(Seq{n}), "") << n;
  }
}

TEST(FreshRecords, OldestGoFirstAndTheNewestStay) {
  constexpr size_t bytes_max = 1'000'000;
  FreshRecords fresh(bytes_max);
  const std::string payload(10'000, 'x');
  for (uint64_t n = 1; n <= 1'000; ++n) {
    fresh.add(Seq{n}, payload + std::to_string(n));
  }
  size_t held = 0;
  bool seen_one = false;
  for (uint64_t n = 1; n <= 1'000; ++n) {
    const std::string_view found = fresh.find(Seq{n});
    EXPECT_FALSE(seen_one && found.empty()) << n << " is gone, but an older one is not";
    seen_one |= !found.empty();
    held += found.size();
    EXPECT_TRUE(found.empty() || found == payload + std::to_string(n)) << n;
  }
  EXPECT_LE(held, bytes_max);
  EXPECT_GE(held, bytes_max / 2);
}

TEST(FreshRecords, RecordLargerThanAChunkIsKept) {
  FreshRecords fresh(2'000'000);
  const std::string large(700'000, 'y');
  fresh.add(Seq{1}, "small");
  fresh.add(Seq{2}, large);
  fresh.add(Seq{3}, "after");
  EXPECT_EQ(fresh.find(Seq{1}), "small");
  EXPECT_EQ(fresh.find(Seq{2}), large);
  EXPECT_EQ(fresh.find(Seq{3}), "after");
}

TEST(FreshRecords, RecordLargerThanAllIsLeftOut) {
  FreshRecords fresh(100);
  fresh.add(Seq{1}, "small");
  fresh.add(Seq{2}, std::string(101, 'z'));
  EXPECT_EQ(fresh.find(Seq{1}), "small");
  EXPECT_EQ(fresh.find(Seq{2}), "");
}

}  // namespace
}  // namespace parley::node
