// SPDX-License-Identifier: Apache-2.0
#include "app/text/answers.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace parley::app {
namespace {

std::string printed(const Show& show, const std::string& answer, const Given& given = {}) {
  lib::JsonDocument document;
  const auto json = document.parse(answer);
  testing::internal::CaptureStdout();
  EXPECT_EQ(show(*json, given), 0);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(Filled, ReplacesNamesInBracesAlone) {
  const auto shout = [](std::string_view name) { return std::string(name) + "!"; };
  EXPECT_EQ(filled("", shout), "");
  EXPECT_EQ(filled("a b", shout), "a b");
  EXPECT_EQ(filled("{a}{--b} c", shout), "a!--b! c");
  EXPECT_EQ(filled("x {a", shout), "x ");
}

TEST(Says, FillsInArgumentsAndMembersOfTheAnswer) {
  EXPECT_EQ(printed(says("{ID} has {count}{none}"), R"({"count":3})", {{"ID", "a\x1b"}}),
            "a\\x1b has 3\n");
}

TEST(Lists, AreTablesOrALine) {
  const Show show =
      lists("locks", "no locks", {{"NAME", member("name", 5)}, {"FENCE", member("fence")}});
  EXPECT_EQ(printed(show, R"({"locks":[{"name":"deployment","fence":4},{"name":"b"}]})"),
            "NAME   FENCE\ndepl…  4\nb      -\n");
  EXPECT_EQ(printed(show, R"({"locks":[]})"), "no locks\n");
  EXPECT_EQ(printed(show, "{}"), "no locks\n");
  EXPECT_EQ(printed(lists("locks", "", {{"NAME", member("name")}}), "{}"), "NAME\n");
}

TEST(Joined, NamesWithCommas) {
  lib::JsonDocument document;
  EXPECT_EQ(joined(*document.parse(R"(["ana","bo",3])")), "ana, bo, 3");
  EXPECT_EQ(joined(lib::Json()), "");
}

}  // namespace
}  // namespace parley::app
