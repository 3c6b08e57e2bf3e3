// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace parley::base {

TEST(Cut, LeavesShortTextAsItIs) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("", 0), "");
}

TEST(Cut, CutsBetweenCharacters) {
  EXPECT_EQ(cut("abcd", 3), "abc");
  EXPECT_EQ(cut("a\xc3\xa9z", 2), "a");              // é has two bytes
  EXPECT_EQ(cut("a\xc3\xa9z", 3), "a\xc3\xa9");
  EXPECT_EQ(cut("\xf0\x9f\x98\x80!", 3), "");        // one character of four bytes
  EXPECT_EQ(cut("\xf0\x9f\x98\x80!", 4), "\xf0\x9f\x98\x80");
}

}  // namespace parley::base
