// SPDX-License-Identifier: Apache-2.0
#include "core/state/slots.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

TEST(Slots, NumbersOfRemovedValuesServeAgain) {
  Slots<std::string> slots;
  const uint32_t a = slots.add("a");
  const uint32_t b = slots.add("b");
  EXPECT_NE(a, b);
  slots.remove(a);
  EXPECT_EQ(slots.size(), 1u);
  EXPECT_EQ(slots[a], "");
  EXPECT_EQ(slots.add("c"), a);
  EXPECT_EQ(slots[b], "b");
}

TEST(Slots, ValuesStayWhereTheyAre) {
  Slots<int> slots;
  const uint32_t first = slots.add(7);
  const int* const address = &slots[first];
  for (int n = 0; n < 5'000; ++n) {
    slots.add(n);
  }
  EXPECT_EQ(&slots[first], address);
  EXPECT_EQ(*address, 7);
}

TEST(Slots, AgreesWithAMapUnderRandomWork) {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::Random random(seed);
    Slots<uint32_t> slots;
    std::map<uint32_t, uint32_t> model;
    for (int step = 0; step < 10'000; ++step) {
      if (model.empty() || random.below(3) != 0) {
        const uint32_t value = 1 + random.below(1'000);
        const uint32_t slot = slots.add(value);
        ASSERT_TRUE(model.emplace(slot, value).second);
      } else {
        auto at = model.lower_bound(random.below(4'000));
        at = at == model.end() ? model.begin() : at;
        ASSERT_EQ(slots[at->first], at->second);
        slots.remove(at->first);
        model.erase(at);
      }
    }
    ASSERT_EQ(slots.size(), model.size());
    slots.each([&](uint32_t slot, uint32_t value) {
      const auto at = model.find(slot);
      ASSERT_EQ(value, at == model.end() ? 0 : at->second);
    });
  }
}

}  // namespace
}  // namespace parley::core
