// SPDX-License-Identifier: Apache-2.0
#include "core/holds/holds.h"

#include <gtest/gtest.h>

namespace parley::core {
namespace {

constexpr Hold by_seven{.by = Seq{7}};
constexpr Hold by_eight{.by = Seq{8}};

TEST(Holds, WhatIsHeldTwiceIsHeldUntilBothAreGone) {
  Holds holds;
  EXPECT_FALSE(holds.contains(Seq{1}));
  holds.add(Seq{1}, by_seven);
  holds.add(Seq{1}, by_eight);
  ASSERT_NE(holds.find(Seq{1}), nullptr);
  EXPECT_EQ(holds.find(Seq{1})->by, Seq{7});
  holds.remove(Seq{1}, by_seven);
  ASSERT_NE(holds.find(Seq{1}), nullptr);
  EXPECT_EQ(holds.find(Seq{1})->by, Seq{8});
  holds.remove(Seq{1}, by_eight);
  EXPECT_FALSE(holds.contains(Seq{1}));
}

TEST(Holds, TheSameHoldCountsOnce) {
  Holds holds;
  holds.add(Seq{1}, by_seven);
  holds.add(Seq{1}, by_seven);
  holds.remove(Seq{1}, by_seven);
  EXPECT_TRUE(holds.all().empty());
}

TEST(Holds, AHoldIsTakenFromItsOwnMessageOnly) {
  Holds holds;
  holds.remove(Seq{1}, by_seven);
  holds.add(Seq{1}, by_seven);
  holds.add(Seq{2}, by_seven);
  holds.remove(Seq{1}, by_eight);
  EXPECT_TRUE(holds.contains(Seq{1}));
  holds.remove(Seq{1}, by_seven);
  EXPECT_FALSE(holds.contains(Seq{1}));
  EXPECT_TRUE(holds.contains(Seq{2}));
}

TEST(Holds, AMessageThatIsDoneWithHasNoHoldAnyMore) {
  Holds holds;
  holds.forget(Seq{1});
  holds.add(Seq{1}, by_seven);
  holds.add(Seq{1}, by_eight);
  holds.forget(Seq{1});
  EXPECT_EQ(holds.find(Seq{1}), nullptr);
  EXPECT_TRUE(holds.all().empty());
}

TEST(Holds, WhoAsksForAHeldMessageIsToldWhy) {
  const HoldWords words = words_of(HoldReason::session_paused);
  EXPECT_EQ(words.code, base::Code::session_paused);
  EXPECT_NE(words.to_read.find("paused"), std::string_view::npos);
  EXPECT_NE(words.to_settle.find("read it when that is resumed"), std::string_view::npos);
}

}  // namespace
}  // namespace parley::core
