// SPDX-License-Identifier: Apache-2.0
#include "core/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/testing.h"

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

}  // namespace
}  // namespace parley::core
