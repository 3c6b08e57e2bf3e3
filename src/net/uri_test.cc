// SPDX-License-Identifier: Apache-2.0
#include "net/uri.h"

#include <gtest/gtest.h>

namespace parley::net {
namespace {

TEST(Uri, PercentCodingGoesThereAndBack) {
  EXPECT_EQ(percent_encoded("a/b ü~"), "a%2Fb%20%C3%BC~");
  EXPECT_EQ(percent_decoded("a%2Fb%20%c3%bc~", false), "a/b ü~");
}

TEST(Uri, APlusIsASpaceOnlyInAQuery) {
  EXPECT_EQ(percent_decoded("a+b", true), "a b");
  EXPECT_EQ(percent_decoded("a+b", false), "a+b");
}

TEST(Uri, RefusesWhatIsNotWellFormed) {
  for (const std::string_view text : {"%", "%4", "%4g", "%ff", "a%C3"}) {
    EXPECT_FALSE(percent_decoded(text, false)) << text;
  }
}

TEST(Uri, TheFirstSlashBeginsTheFirstSegment) {
  EXPECT_EQ(path_segments("/v1/agents/"), (std::vector<std::string_view>{"v1", "agents", ""}));
  EXPECT_EQ(path_segments("/"), std::vector<std::string_view>{""});
}

TEST(Uri, FindsAParameterByItsDecodedName) {
  EXPECT_EQ(query_value("a=1&%62=x+y&b=2", "b"), "x y");
  EXPECT_EQ(query_value("a", "a"), "");
  EXPECT_FALSE(query_value("ab=1", "a"));
}

}  // namespace
}  // namespace parley::net
