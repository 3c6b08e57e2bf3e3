// SPDX-License-Identifier: Apache-2.0
#include "core/deadletters.h"

#include <gtest/gtest.h>

#include <set>

namespace parley::core {
namespace {

TEST(DeadLetters, IdsAreNeverUsedAgain) {
  DeadLetters letters;
  EXPECT_EQ(letters.add({}), 1u);
  EXPECT_EQ(letters.add({}), 2u);
  letters.remove(2);
  EXPECT_EQ(letters.add({}), 3u);
  EXPECT_EQ(letters.find(2), nullptr);
}

TEST(DeadLetters, OldestResolvedGoesFirstElseTheOldest) {
  DeadLetters letters;
  for (int n = 0; n < 4; ++n) {
    letters.add({});
  }
  EXPECT_EQ(letters.first_to_go(), 1u);
  letters.resolve(*letters.find(3), Resolution::discarded, "root", Time{5});
  EXPECT_EQ(letters.first_to_go(), 3u);
  letters.resolve(*letters.find(2), Resolution::retried, "root", Time{6});
  EXPECT_EQ(letters.first_to_go(), 2u);
  letters.remove(2);
  letters.remove(3);
  EXPECT_EQ(letters.first_to_go(), 1u);

  DeadLetters copy;
  letters.resolve(*letters.find(4), Resolution::escalated, "root", Time{7});
  copy.restore(letters.next_id(), letters.all());
  EXPECT_EQ(copy.first_to_go(), 4u);
  EXPECT_EQ(copy.next_id(), 5u);
}

TEST(DeadLetters, EveryReasonHasItsOwnName) {
  std::set<std::string_view> names;
  for (uint8_t n = 0; n <= static_cast<uint8_t>(reason_last); ++n) {
    names.insert(reason_name(static_cast<Reason>(n)));
  }
  EXPECT_EQ(names.size(), size_t{6});
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace parley::core
