// SPDX-License-Identifier: Apache-2.0
#include "base/unicode/look_alike.h"

#include <gtest/gtest.h>

#include "base/unicode/utf8.h"

namespace parley::base {
namespace {

TEST(LookAlike, WhatLooksTheSameHasOneSkeleton) {
  for (const std::string_view name : {"parley", "PARLEY", "Parley", "pаrley",  //
                                      "рarley", "ｐａｒｌｅｙ", "ρarley", "parlеу"}) {
    EXPECT_EQ(skeleton(name), "parley") << name;
  }
  EXPECT_EQ(skeleton("ѕуѕtеm"), "system");
  EXPECT_EQ(skeleton("＊"), "*");
  EXPECT_EQ(skeleton("ΗUМАN：di"), "human:di");
}

TEST(LookAlike, OtherLettersStayAsTheyAre) {
  for (const std::string_view name : {"zoë", "jürgen", "规划者",  //
                                      "مخطط", "plánovač", "プランナー"}) {
    EXPECT_EQ(skeleton(name), name);
  }
  EXPECT_NE(skeleton("планировщик"), skeleton("planirovshchik"));
  EXPECT_EQ(skeleton("a\xff"), "a\xff");
}

TEST(LookAlike, AsciiIsSevenBits) {
  EXPECT_TRUE(is_ascii("agent:ana 2"));
  EXPECT_FALSE(is_ascii("zoë"));
}

TEST(Utf8, CharactersAreTakenAndPut) {
  std::string text = "aé€😀";
  std::string_view rest = text;
  std::string again;
  for (const char32_t wanted :
       {char32_t{0x61}, char32_t{0xe9}, char32_t{0x20ac}, char32_t{0x1f600}}) {
    const char32_t character = take_character(rest);
    EXPECT_EQ(character, wanted);
    put_character(character, again);
  }
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(again, text);
}

TEST(Utf8, WhatIsNoneIsTakenByTheByte) {
  for (const std::string_view bad :
       {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",  //
        "\xe2\x82", "\x80"}) {
    std::string_view rest = bad;
    EXPECT_EQ(take_character(rest), not_utf8);
    EXPECT_EQ(rest.size(), bad.size() - 1);
  }
}

}  // namespace
}  // namespace parley::base
