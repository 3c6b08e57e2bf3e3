// SPDX-License-Identifier: Apache-2.0
#include "edge/proposal.h"

#include <gtest/gtest.h>

namespace parley::edge {
namespace {

struct Written {
  std::string text;
  std::optional<base::Error> error;
};

Written written(std::string_view json) {
  lib::JsonDocument document;
  const auto value = document.parse(json);
  EXPECT_TRUE(value.has_value()) << json;
  Written result;
  result.error = append_proposal(result.text, *value, "/action");
  return result;
}

// SP-08
TEST(Proposal, HasNoLayoutOfItsOwn) {
  EXPECT_EQ(
      written(" { \"a\" : [ 1 , 2.50,{ } ,[ ] ],\n\n\n \"b\":\t\"x\\u0041\\/\" , \"c\": null } ")
          .text,
      R"({"a":[1,2.50,{},[]],"b":"xA/","c":null})");
  EXPECT_EQ(written("true").text, "true");
}

// SP-08
TEST(Proposal, ShowsWhatCannotBeSeen) {
  EXPECT_EQ(written("{\"a\xe2\x80\x8b\":\"\xe2\x80\xae"
                    "b\\u001b\\n\"}")
                .text,
            R"({"a\u200b":"\u202eb\u001b\n"})");
}

// SP-08
TEST(Proposal, HasEachKeyOnce) {
  const Written twice = written(R"({"a":[{"b/c":1,"d":2,"b\u002fc":3}]})");
  ASSERT_TRUE(twice.error.has_value());
  EXPECT_EQ(twice.error->code, base::Code::bad_request);
  EXPECT_EQ(twice.error->field, "/action/a/0/b~1c");
  EXPECT_FALSE(written(R"([{"a":1},{"a":1}])").error.has_value());
}

}  // namespace
}  // namespace parley::edge
