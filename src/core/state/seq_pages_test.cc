// SPDX-License-Identifier: Apache-2.0
#include "core/state/seq_pages.h"

#include <gtest/gtest.h>

#include <map>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

using base::Seq;

TEST(SeqPages, EmptyOnesFindNothing) { EXPECT_EQ(SeqPages().find(Seq{5}), none); }

TEST(SeqPages, ErasingWhatIsNotThereIsOurMistake) {
  SeqPages places;
  EXPECT_DEATH(places.erase(Seq{5}), "");
  places.insert(Seq{5}, 1);
  EXPECT_DEATH(places.erase(Seq{6}), "");
  EXPECT_DEATH(places.erase(Seq{500}), "");
}

// As in an engine: places grow, with gaps, and go in any order.
TEST(SeqPages, AgreeWithAMapUnderRandomWork) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::Random random(seed);
    const uint64_t gap = 1 + random.below(40);
    SeqPages places;
    std::map<uint64_t, uint32_t> model;
    uint64_t last = 0;
    for (uint32_t step = 0; step < 2'000; ++step) {
      if (random.below(3) > 0) {
        last += 1 + random.below(gap);
        places.insert(Seq{last}, step);
        model[last] = step;
      } else if (!model.empty()) {
        auto at = model.lower_bound(random.below(last + 1));
        at = at == model.end() ? model.begin() : at;
        places.erase(Seq{at->first});
        model.erase(at);
      }
      const uint64_t asked = random.below(last + 3);
      const auto at = model.find(asked);
      ASSERT_EQ(places.find(Seq{asked}), at == model.end() ? none : at->second) << asked;
    }
    for (const auto& [seq, slot] : model) {
      ASSERT_EQ(places.find(Seq{seq}), slot);
    }
  }
}

}  // namespace
}  // namespace parley::core
