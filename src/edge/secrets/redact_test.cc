// SPDX-License-Identifier: Apache-2.0
#include "edge/secrets/redact.h"

#include <gtest/gtest.h>

namespace parley::edge {

TEST(Mask, LeavesWhatIsNoSecret) {
  const std::string text = R"({"id":"x","n":[1,2,{"a":"b \"c\" d"}],"note":"a token of love"})";
  EXPECT_EQ(redacted(text), text);
}

TEST(Mask, HidesTheValuesOfMembersNamedLikeOne) {
  EXPECT_EQ(redacted(R"({"password":"hunter2","a":1})"), R"({"password":"***","a":1})");
  EXPECT_EQ(redacted(R"({"API_Key" : "k" , "a":1})"), R"({"API_Key" : "***" , "a":1})");
  EXPECT_EQ(redacted(R"({"x-auth-token":12345})"), R"({"x-auth-token":"***"})");
  EXPECT_EQ(redacted(R"({"credentials":{"user":"u","pw":"p"},"b":2})"),
            R"({"credentials":"***","b":2})");
  EXPECT_EQ(redacted(R"({"secrets":["a","b]"],"b":2})"), R"({"secrets":"***","b":2})");
}

TEST(Mask, HidesKnownKindsOfTokensAnywhere) {
  EXPECT_EQ(redacted(R"(["use prl_0123456789abcdef now"])"), R"(["use *** now"])");
  EXPECT_EQ(redacted(R"({"h":"Bearer eyJhbGciOi.J9.abc_-"})"), R"({"h":"Bearer ***"})");
  EXPECT_EQ(redacted(R"({"short":"sk-1"})"), R"({"short":"sk-1"})");
}

TEST(Mask, HidesWhatIsCut) {
  EXPECT_EQ(redacted(R"({"a":1,"password":"hunt)"), R"({"a":1,"password":"***")");
  EXPECT_EQ(redacted(R"({"a":1,"password":)"), R"({"a":1,"password":"***")");
  EXPECT_EQ(redacted(R"({"a":"ghp_0123456789ab)"), R"({"a":"***)");
  EXPECT_EQ(redacted("\"\\"), "\"\\");
}

// Only the beginning of what is too long to be kept is looked at, and masked as all of it is.
TEST(Mask, EndsWhereEnoughIsMasked) {
  std::string text = R"({"a":1,"password":"hunter2")";
  text.append(R"(,"b":"prl_0123456789abcdef")").append(R"(,"c":1)").append("}");
  const std::string all = redacted(text);
  for (size_t size = 0; size <= all.size(); ++size) {
    const std::string part = redacted(text, size);
    EXPECT_GE(part.size(), size);
    EXPECT_EQ(part, all.substr(0, part.size()));
  }
  EXPECT_EQ(redacted(text, 8), R"({"a":1,"password":"***")");
}

}  // namespace parley::edge
