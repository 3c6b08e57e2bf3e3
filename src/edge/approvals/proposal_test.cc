// SPDX-License-Identifier: Apache-2.0
#include "edge/approvals/proposal.h"

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

// The text of a place is made for the error alone: beneath a name of a MiB, a hundred thousand such
// texts would take the test beyond its time.
TEST(Proposal, MakesNoPlaceThatItDoesNotTell) {
  std::string json = R"({")" + std::string(1 << 20, 'n') + R"(":[[0)";
  for (int n = 0; n < 100'000; ++n) {
    json += ",0";
  }
  EXPECT_FALSE(written(json + "]]}").error.has_value());
  const Written twice = written(json + R"(],{"a":1,"a":2}]})");
  ASSERT_TRUE(twice.error.has_value());
  EXPECT_EQ(twice.error->field, "/action/" + std::string(256 - 8, 'n'));
}

std::expected<std::string, base::Error> shown(std::string_view action, size_t bytes_max) {
  lib::JsonDocument document;
  return proposal_text({.action = *document.parse(action), .summary = "s", .rationale = "r"},
                       bytes_max);
}

TEST(Proposal, HasALengthAtMost) {
  const std::string all = R"({"action":[1,2],"rationale":"r"})";
  EXPECT_EQ(shown("[1,2]", all.size()), all);
  for (size_t size = 0; size < all.size(); ++size) {
    const auto text = shown("[1,2]", size);
    ASSERT_FALSE(text) << size;
    EXPECT_EQ(text.error().code, base::Code::payload_too_large);
    EXPECT_NE(text.error().detail.find("approval_bytes_max"), std::string::npos);
  }
}

// What is shown in a few bytes may be sent in some more, not in very many.
TEST(Proposal, IsNotReadWhereMuchMoreIsSentThanShown) {
  EXPECT_TRUE(shown("[1" + std::string(150, ' ') + "]", 50));
  const auto text = shown("[1" + std::string(250, ' ') + R"(,{"a":1,"a":2}])", 50);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, base::Code::payload_too_large);
  EXPECT_EQ(text.error().field, "/action");
}

// It ends where it is too long, before it comes to what else is wrong.
TEST(Proposal, EndsWhereItIsTooLong) {
  const auto text = shown(R"(["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",{"a":1,"a":2}])", 20);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, base::Code::payload_too_large);
}

}  // namespace
}  // namespace parley::edge
