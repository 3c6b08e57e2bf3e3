// SPDX-License-Identifier: Apache-2.0
#include "core/state/deadlines.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

using base::Seq;
using base::Time;

TEST(Deadlines, OneMomentComesOutBySeqThenMinor) {
  Deadlines deadlines;
  deadlines.add({Time{5}, Seq{2}, 0, 1});
  deadlines.add({Time{5}, Seq{1}, 2, 2});
  deadlines.add({Time{5}, Seq{1}, 1, 3});
  deadlines.add({Time{4}, Seq{9}, 0, 4});
  std::vector<uint32_t> slots;
  while (!deadlines.empty()) {
    slots.push_back(deadlines.first().slot);
    const auto due = deadlines.first();
    const uint32_t again = deadlines.add({Time{0}, Seq{0}, 0, 99});
    EXPECT_EQ(deadlines.first().slot, 99u);
    deadlines.remove(again);
    EXPECT_EQ(deadlines.first().slot, due.slot);
    // Handles were given in the order of adding: slot n has handle n - 1.
    deadlines.remove(due.slot - 1);
  }
  EXPECT_EQ(slots, (std::vector<uint32_t>{4, 3, 2, 1}));
}

TEST(Deadlines, AgreesWithASortedSetUnderRandomWork) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::Random random(seed);
    using Key = std::tuple<int64_t, uint64_t, uint32_t>;
    Deadlines deadlines;
    std::map<Key, uint32_t> model;  // to the handle
    for (int step = 0; step < 3'000; ++step) {
      const Key key{random.below(20), random.below(20), random.below(3)};
      const auto at = model.find(key);
      if (at == model.end()) {
        const auto [time, seq, minor] = key;
        model[key] = deadlines.add({Time{time}, Seq{seq}, minor, minor + 100});
      } else {
        deadlines.remove(at->second);
        model.erase(at);
      }
      ASSERT_EQ(deadlines.size(), model.size());
      if (!model.empty()) {
        const auto [time, seq, minor] = model.begin()->first;
        const Deadlines::Due& first = deadlines.first();
        ASSERT_EQ(std::make_tuple(first.at.us, first.seq.n, first.minor),
                  std::make_tuple(time, seq, minor));
        ASSERT_EQ(first.slot, minor + 100);
      }
    }
    // What is left comes out in order.
    while (!model.empty()) {
      ASSERT_EQ(deadlines.first().seq.n, std::get<1>(model.begin()->first));
      deadlines.remove(model.begin()->second);
      model.erase(model.begin());
    }
    EXPECT_TRUE(deadlines.empty());
  }
}

// More than a block of them holds.
TEST(Deadlines, ManyComeOutInOrderAfterHalfOfThemWereRemoved) {
  Deadlines deadlines;
  std::map<int64_t, uint32_t> model;  // to the handle
  testing::Random random(1);
  for (uint64_t n = 0; n < 20'000; ++n) {
    const int64_t at = random.below(1'000'000'000);
    if (!model.contains(at)) {
      model[at] = deadlines.add({Time{at}, Seq{n}, 0, static_cast<uint32_t>(at)});
    }
    if (n % 2 == 1) {
      deadlines.remove(model.begin()->second);
      model.erase(model.begin());
    }
  }
  ASSERT_GT(model.size(), 9'000u);
  for (const auto& [at, handle] : model) {
    ASSERT_EQ(deadlines.first().at.us, at);
    ASSERT_EQ(deadlines.first().slot, static_cast<uint32_t>(at));
    deadlines.remove(handle);
  }
  EXPECT_TRUE(deadlines.empty());
}

// A heap that moved as a whole when it grows would copy tens of megabytes at once.
TEST(Deadlines, OnesThatWereAddedStayWhereTheyAre) {
  Deadlines deadlines;
  deadlines.add({Time{0}, Seq{1}, 0, 7});
  const Deadlines::Due* const first = &deadlines.first();
  for (uint64_t n = 1; n < 5'000; ++n) {
    deadlines.add({Time{1}, Seq{n + 1}, 0, 8});
  }
  EXPECT_EQ(&deadlines.first(), first);
  EXPECT_EQ(first->slot, 7u);
}

}  // namespace
}  // namespace parley::core
