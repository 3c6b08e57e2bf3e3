// SPDX-License-Identifier: Apache-2.0
#include "core/state/seq_line.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace parley::core {
namespace {

using base::Seq;

std::vector<uint32_t> slots_before(const SeqLine& line, uint64_t end, size_t max) {
  std::vector<uint32_t> slots;
  line.each_before(Seq{end}, [&](uint32_t slot) {
    slots.push_back(slot);
    return slots.size() < max;
  });
  return slots;
}

TEST(SeqLine, IsReadFromItsEndUntilEnough) {
  SeqLine line;
  EXPECT_TRUE(slots_before(line, UINT64_MAX, 3).empty());
  for (uint64_t n = 1; n <= 1'000; ++n) {
    line.insert(Seq{n}, static_cast<uint32_t>(n));
  }
  EXPECT_EQ(slots_before(line, UINT64_MAX, 3), (std::vector<uint32_t>{1'000, 999, 998}));
  EXPECT_EQ(slots_before(line, 3, 3), (std::vector<uint32_t>{2, 1}));
  EXPECT_TRUE(slots_before(line, 1, 3).empty());
}

// Against a plain map: it grows at its end and in its middle, and shrinks at its start and
// anywhere.
TEST(SeqLine, HoldsWhatAMapHolds) {
  const uint32_t seed = 20'261'118;
  std::mt19937 random(seed);
  SeqLine line;
  std::map<uint64_t, uint32_t> wanted;
  uint64_t newest = 1'000'000;
  for (uint32_t step = 1; step <= 30'000; ++step) {
    const bool grows = step / 5'000 % 2 == 0;
    const uint64_t dice = random() % 10;
    if (grows ? dice < 8 : dice < 2) {
      const uint64_t at = dice % 2 == 0 ? ++newest : 1 + random() % newest;
      if (wanted.emplace(at, step).second) {
        line.insert(Seq{at}, step);
      }
    } else if (!wanted.empty()) {
      auto gone = dice % 2 == 0 ? wanted.begin() : wanted.lower_bound(random() % newest);
      gone = gone == wanted.end() ? std::prev(gone) : gone;
      line.erase(Seq{gone->first});
      wanted.erase(gone);
    }
    ASSERT_EQ(line.size(), wanted.size()) << "seed " << seed << " step " << step;
    if (step % 500 == 0) {
      std::vector<uint32_t> slots;
      for (auto at = wanted.rbegin(); at != wanted.rend(); ++at) {
        slots.push_back(at->second);
      }
      ASSERT_EQ(slots_before(line, UINT64_MAX, SIZE_MAX), slots) << "seed " << seed;
    }
    const uint64_t end = 1 + random() % newest;
    std::vector<uint32_t> some;
    for (auto at = std::make_reverse_iterator(wanted.lower_bound(end));
         at != wanted.rend() && some.size() < 3; ++at) {
      some.push_back(at->second);
    }
    ASSERT_EQ(slots_before(line, end, 3), some) << "seed " << seed << " step " << step;
  }
  while (!wanted.empty()) {
    line.erase(Seq{wanted.begin()->first});
    wanted.erase(wanted.begin());
  }
  EXPECT_TRUE(line.empty());
  EXPECT_TRUE(slots_before(line, UINT64_MAX, 1).empty());
}

}  // namespace
}  // namespace parley::core
