// SPDX-License-Identifier: Apache-2.0
#include "app/text/terminal.h"

#include <gtest/gtest.h>

#include "app/text/json.h"
#include "lib/json.h"

namespace parley::app {
namespace {

TEST(Printable, HidesWhatCouldRewriteATerminal) {
  EXPECT_EQ(printable("plain, grün, 日本"), "plain, grün, 日本");
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("a\r\n\t\x7f"), "a\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u{9b}31m");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u{202e}b");
}

// SP-08: what people decide on hides nothing, not even what a script may need.
TEST(Visible, ShowsWhatCannotBeSeen) {
  EXPECT_EQ(visible("plain, gr\xc3\xbcn"), "plain, gr\xc3\xbcn");
  EXPECT_EQ(visible("a\xe2\x80\x8d"
                    "b\xe3\x85\xa4\xe2\x80\xae\n"),
            "a\\u{200d}b\\u{3164}\\u{202e}\\x0a");
}

// SP-08
TEST(LaidOut, HasALayoutOfItsOwn) {
  lib::JsonDocument document;
  const auto json =
      document.parse("{\"a\":[ 1,\n\n\n {\"b\":\"x\\n\xe2\x80\xae\"}], \"c\" : { }, \"d\":[ ]}");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(laid_out(*json), R"({
  "a": [
    1,
    {
      "b": "x\n\u202e"
    }
  ],
  "c": {},
  "d": []
})");
}

TEST(Printable, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\x9b\xff"), "a\\x9b\\xff");
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
}

TEST(Printable, KeepsLinesOfABody) {
  EXPECT_EQ(printable_lines("one\n\ttwo\x1b\r\n"), "one\n\ttwo\\x1b\\x0d\n");
}

TEST(Printable, JsonMeansTheSameAfterwards) {
  const std::string json = "{\"a\":\"x\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81\x7f\"}";
  const std::string safe = printable_json(json);
  EXPECT_EQ(safe, "{\"a\":\"x\\u009b\\u202e\\udb40\\udc01\\u007f\"}");
  lib::JsonDocument one;
  lib::JsonDocument two;
  const auto before = one.parse(json);
  const auto after = two.parse(safe);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->find("a").as_string(), after->find("a").as_string());
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("grün"), 4);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(display_width("e\xcc\x81"), 1);
  EXPECT_EQ(display_width("🚀"), 2);
}

TEST(Shortened, CutsBetweenCharactersWithAnEllipsis) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("longer", 5), "long…");
  EXPECT_EQ(shortened("日本語", 4), "日…");
}

TEST(Table, AlignsByWhatIsSeen) {
  Table table({"NAME", "N", "WHAT"});
  table.add({{"日本"}, {"1"}, {"x"}});
  table.add({{"ana"}, {"100"}, {""}});
  EXPECT_EQ(table.render(false),
            "NAME  N    WHAT\n"
            "日本  1    x\n"
            "ana   100  -\n");
}

TEST(Table, ColoursOnlyWhenAsked) {
  Table table({"A", "B"});
  table.add({{"x", Colour::red}, {"y"}});
  EXPECT_EQ(table.render(false).find('\x1b'), std::string::npos);
  EXPECT_NE(table.render(true).find("\x1b[31mx\x1b[0m"), std::string::npos);
}

TEST(Table, CellsCannotBreakOut) {
  Table table({"A", "B"});
  table.add({{"x\ny"}, {"\x1b[31m"}});
  EXPECT_EQ(table.render(false), "A       B\nx\\x0ay  \\x1b[31m\n");
}

TEST(Terminal, AWordForAShellIsQuotedWhereItHasToBe) {
  EXPECT_EQ(shell_word("agent:bo"), "agent:bo");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("o'b $x"), "'o'\\''b $x'");
}

}  // namespace
}  // namespace parley::app
