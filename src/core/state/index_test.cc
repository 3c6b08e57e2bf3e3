// SPDX-License-Identifier: Apache-2.0
#include "core/state/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "core/machine/testing.h"

namespace parley::core {
namespace {

std::vector<uint32_t> found(const Index& index, uint64_t hash) {
  std::vector<uint32_t> slots;
  index.find(hash, [&](uint32_t slot) {
    slots.push_back(slot);
    return false;
  });
  std::ranges::sort(slots);
  return slots;
}

TEST(Index, EmptyOneFindsNothing) { EXPECT_TRUE(found(Index(), 5).empty()); }

TEST(Index, SlotsMayShareAHash) {
  Index index;
  index.insert(5, 1);
  index.insert(5, 2);
  index.insert(6, 3);
  EXPECT_EQ(found(index, 5), (std::vector<uint32_t>{1, 2}));
  index.erase(5, 1);
  EXPECT_EQ(found(index, 5), (std::vector<uint32_t>{2}));
}

TEST(Index, SearchEndsWhenTheVisitorSaysSo) {
  Index index;
  index.insert(5, 1);
  index.insert(5, 2);
  int visits = 0;
  index.find(5, [&](uint32_t) { return ++visits == 1; });
  EXPECT_EQ(visits, 1);
}

TEST(Index, ErasingWhatIsNotThereIsOurMistake) {
  Index index;
  EXPECT_DEATH(index.erase(5, 1), "");
  index.insert(5, 1);
  EXPECT_DEATH(index.erase(5, 2), "");
  EXPECT_DEATH(index.erase(6, 1), "");
}

// Few hashes, many of them neighbours or equal modulo the size: long runs that wrap around.
TEST(Index, AgreesWithASetUnderRandomWork) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::Random random(seed);
    const uint64_t hashes = 1 + random.below(40);
    Index index;
    std::set<std::pair<uint64_t, uint32_t>> model;
    for (int step = 0; step < 2'000; ++step) {
      const uint64_t hash = ~uint64_t{0} - random.below(hashes);
      const uint32_t slot = random.below(200);
      if (model.contains({hash, slot})) {
        model.erase({hash, slot});
        index.erase(hash, slot);
      } else if (model.size() < 400) {
        model.emplace(hash, slot);
        index.insert(hash, slot);
      }
      std::vector<uint32_t> expected;
      for (auto at = model.lower_bound({hash, 0}); at != model.end() && at->first == hash; ++at) {
        expected.push_back(at->second);
      }
      ASSERT_EQ(found(index, hash), expected);
    }
  }
}

// Beyond the size at which one table becomes many.
TEST(Index, LargeOneAgreesWithASetUnderRandomWork) {
  testing::Random random(1);
  Index index;
  std::set<uint32_t> model;
  const auto hash = [](uint32_t slot) { return base::mix64(slot, 7); };
  for (int step = 0; step < 100'000; ++step) {
    const uint32_t slot = random.below(30'000);
    if (model.erase(slot) > 0) {
      index.erase(hash(slot), slot);
    } else {
      model.insert(slot);
      index.insert(hash(slot), slot);
    }
  }
  ASSERT_GT(model.size(), 14'000u);
  for (uint32_t slot = 0; slot < 30'000; ++slot) {
    ASSERT_EQ(found(index, hash(slot)),
              model.contains(slot) ? std::vector<uint32_t>{slot} : std::vector<uint32_t>{});
  }
}

TEST(Index, ThousandsMayShareAHash) {
  Index index;
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < 9'000; ++slot) {
    index.insert(5, slot);
    slots.push_back(slot);
  }
  EXPECT_EQ(found(index, 5), slots);
  EXPECT_TRUE(found(index, 6).empty());
  while (slots.size() > 8'990) {
    index.erase(5, slots.back());
    slots.pop_back();
  }
  EXPECT_EQ(found(index, 5), slots);
}

// What an insert costs is the entries that it moves. A table that doubled as a whole would move a
// million here.
TEST(Index, NoInsertMovesMoreThanSomeThousandEntries) {
  Index index;
  uint64_t most = 0;
  for (uint32_t slot = 0; slot < 2'000'000; ++slot) {
    const uint64_t before = index.moved();
    index.insert(base::mix64(slot, 7), slot);
    most = std::max(most, index.moved() - before);
  }
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 8'000u);
  EXPECT_LT(index.moved(), 2 * 2'000'000u);  // and the mean is less than two
}

}  // namespace
}  // namespace parley::core
