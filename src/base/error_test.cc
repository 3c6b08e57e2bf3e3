// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gtest/gtest.h>

#include <set>

#include "base/check.h"

namespace parley::base {
namespace {

TEST(Code, IsFoundUnderItself) {
  ASSERT_FALSE(all_codes().empty());
  for (const CodeInfo& row : all_codes()) {
    EXPECT_EQ(&info(row.code), &row) << row.name;
  }
  EXPECT_EQ(static_cast<size_t>(Code::count), all_codes().size());
}

TEST(Code, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const CodeInfo& row : all_codes()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(Code, NameIsUpperCaseWords) {
  for (const CodeInfo& row : all_codes()) {
    ASSERT_FALSE(row.name.empty());
    EXPECT_NE(row.name.front(), '_') << row.name;
    EXPECT_NE(row.name.back(), '_') << row.name;
    for (const char c : row.name) {
      EXPECT_TRUE((c >= 'A' && c <= 'Z') || c == '_') << row.name;
    }
  }
}

TEST(Code, HasATitleWithoutAndAdviceWithAFullStop) {
  for (const CodeInfo& row : all_codes()) {
    ASSERT_FALSE(row.title.empty()) << row.name;
    EXPECT_NE(row.title.back(), '.') << row.name;
    ASSERT_FALSE(row.advice.empty()) << row.name;
    EXPECT_EQ(row.advice.back(), '.') << row.name;
  }
}

TEST(Code, HasTheStatusOfAFailureOrIsNeverSaidOverHttp) {
  std::set<std::string_view> others;
  for (const CodeInfo& row : all_codes()) {
    if (row.http_status == 0) {
      others.insert(row.name);
      continue;
    }
    EXPECT_GE(row.http_status, 400) << row.name;
    EXPECT_LE(row.http_status, 599) << row.name;
  }
  const std::set<std::string_view> wanted = {"BAD_ARGUMENTS", "NO_HUMAN", "BAD_ANSWER", "REFUSED"};
  EXPECT_EQ(others, wanted);
}

TEST(CheckDeathTest, NamesTheConditionAndThePlace) {
  EXPECT_DEATH(CHECK(1 + 1 == 3), "error_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3");
}

TEST(Check, HoldsSilently) { CHECK(1 + 1 == 2); }

}  // namespace
}  // namespace parley::base
