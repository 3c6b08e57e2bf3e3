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
  EXPECT_EQ(cut("a\xc3\xa9z", 2), "a");  // é has two bytes
  EXPECT_EQ(cut("a\xc3\xa9z", 3), "a\xc3\xa9");
  EXPECT_EQ(cut("\xf0\x9f\x98\x80!", 3), "");  // one character of four bytes
  EXPECT_EQ(cut("\xf0\x9f\x98\x80!", 4), "\xf0\x9f\x98\x80");
}

TEST(ParseNumber, TakesDecimalDigitsAndNothingElse) {
  EXPECT_EQ(parse_number("0"), 0U);
  EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
  for (const std::string_view text :
       {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

TEST(PlainName, RefusesWhatCannotBeTold) {
  EXPECT_TRUE(is_plain_name("agent:ana:main"));
  EXPECT_TRUE(is_plain_name("J\xc3\xbcrgen the 2nd"));
  EXPECT_TRUE(is_plain_name("\xe2\x82\xac"));  // the euro sign
  for (const std::string_view name :
       {"", " ", "ana ", " ana", "a\nb", "a\x7f", "\xe2\x80\xae evil", "a\xe2\x80\x8b",
        "\xef\xbb\xbf"
        "a",
        "a\xc2\xa0"
        "b"}) {
    EXPECT_FALSE(is_plain_name(name)) << name;
  }
  EXPECT_FALSE(is_plain_name(std::string_view("a\0b", 3)));
}

TEST(PlainName, RefusesWhatUnicodeCallsIgnorable) {
  for (const std::string_view name :
       {"a\u00adb", "a\u034fb", "a\u061cb", "a\u115fb", "a\u180eb", "a\u2064b", "a\u2069b",
        "a\u206fb", "a\u3164b", "a\ufe0fb", "a\uffa0b", "a\U000e0061b", "a\u2800b", "\u3000a",
        "a\u202fb", "\u0301a", "\u20dda", "a\xff", "a\xe2\x82"}) {
    EXPECT_FALSE(is_plain_name(name)) << name;
  }
}

TEST(PlainName, TakesTheNamesOfAllLanguages) {
  for (const std::string_view name : {"规划者", "مخطط", "משה", "भाषा",  //
                                      "계획자", "Zoë", "план-2",         //
                                      "e\u0301tude", "σχέδιο", "แผน", "bot 🤖"}) {
    EXPECT_TRUE(is_plain_name(name)) << name;
  }
}

// Who reads it sees that there was more.
TEST(Text, ShortenedEndsWithAMark) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("", 0), "");
  EXPECT_EQ(shortened("abcdefgh", 7), "abcd…");
  EXPECT_EQ(shortened("abc\xc3\xa9 fgh", 7), "abc…");  // é is not cut in two
  EXPECT_EQ(shortened("abcdefgh", 3), "…");
  EXPECT_EQ(shortened("abcdefgh", 2), "");
}

}  // namespace parley::base
