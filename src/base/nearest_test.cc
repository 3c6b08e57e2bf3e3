// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace parley::base {
namespace {

TEST(Nearest, CountsInsertionsDeletionsAndChanges) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("listen", "listen"), 0);
  EXPECT_EQ(edit_distance("lsten", "listen"), 1);
  EXPECT_EQ(edit_distance("listens", "listen"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Nearest, WhatIsTooFarIsOnlyKnownToBe) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3);
  EXPECT_GT(edit_distance("kitten", "sitting", 2), 2);
  EXPECT_GT(edit_distance(std::string(64, 'a'), std::string(64, 'b'), 2), 2);
  EXPECT_EQ(edit_distance("listen", "listen", 0), 0);
}

TEST(Nearest, TakesTheFirstOfEquallyNear) {
  const std::vector<std::string_view> names = {"data", "date", "listen"};
  EXPECT_EQ(nearest("dat", names), "data");
  EXPECT_EQ(nearest("lisen", names), "listen");
  EXPECT_EQ(nearest("x", std::vector<std::string_view>{}), "");
}

TEST(Nearest, LongInputIsCut) {
  EXPECT_EQ(edit_distance(std::string(1'000'000, 'a'), std::string(64, 'a')), 0);
}

}  // namespace
}  // namespace parley::base
