// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto.h"

#include <gtest/gtest.h>

#include "base/text.h"

#include <set>

namespace parley::lib {
namespace {

TEST(Crypto, Sha256OfKnownInputs) {
  const auto hash = sha256("abc");
  EXPECT_EQ(hash[0], 0xba);
  EXPECT_EQ(hash[1], 0x78);
  EXPECT_EQ(hash[31], 0xad);
  EXPECT_EQ(sha256("")[0], 0xe3);
}

TEST(Crypto, TokensAreLongUrlSafeAndDifferent) {
  std::set<std::string> seen;
  for (int n = 0; n < 100; ++n) {
    const std::string token = random_token();
    EXPECT_EQ(token.size(), 4 + 43u);
    EXPECT_TRUE(token.starts_with("prl_"));
    EXPECT_EQ(token.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_"),
              std::string::npos);
    seen.insert(token);
  }
  EXPECT_EQ(seen.size(), 100u);
}

// The second test case of RFC 4231 has a short key; the first block of a longer one is the same.
TEST(Crypto, HmacIsThatOfOthers) {
  std::array<uint8_t, 32> key{};
  key[0] = 'J';
  key[1] = 'e';
  key[2] = 'f';
  key[3] = 'e';  // a key is filled up with zeros
  EXPECT_EQ(base64(hmac_sha256(key, "what do ya want for nothing?")),
            "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=");
}

TEST(Crypto, Base64HasPadding) {
  const std::array<uint8_t, 4> bytes = {0xfb, 0xff, 0xfe, 0x01};
  EXPECT_EQ(base64(bytes), "+//+AQ==");
  EXPECT_EQ(base64({}), "");
}

TEST(Crypto, RandomUuidsAreOfVersionFour) {
  const std::string text = base::format_uuid(random_uuid());
  EXPECT_EQ(text[14], '4');
  EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos) << text;
}

TEST(Crypto, DerivedIdsDependOnScopeAndName) {
  EXPECT_EQ(derived_id("ana", "k1"), derived_id("ana", "k1"));
  EXPECT_NE(derived_id("ana", "k1"), derived_id("bo", "k1"));
  EXPECT_NE(derived_id("a", "bc"), derived_id("ab", "c"));
}

TEST(Seal, OpensWithTheSameKeyAndContextOnly) {
  const SecretKey key = random_key();
  const std::string sealed = seal(key, "what was said", "ana");
  EXPECT_EQ(unseal(key, sealed, "ana"), "what was said");
  EXPECT_NE(sealed, seal(key, "what was said", "ana"));
  EXPECT_FALSE(unseal(key, sealed, "bob"));
  EXPECT_FALSE(unseal(random_key(), sealed, "ana"));
  EXPECT_EQ(unseal(key, seal(key, "", ""), ""), "");
  for (size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(unseal(key, changed, "ana")) << at;
    EXPECT_FALSE(unseal(key, sealed.substr(0, at), "ana")) << at;
  }
}

TEST(Base64, IsDecodedWithItsPaddingOnly) {
  EXPECT_EQ(base64_decoded("SGVsbG8="), "Hello");
  EXPECT_EQ(base64_decoded(""), "");
  for (const std::string_view wrong :
       {"SGVsbG8", "SGVs!!!bG8=", "SGVsbG8==", "SGVsbG9=", " SGVsbG8="}) {
    EXPECT_FALSE(base64_decoded(wrong)) << wrong;
  }
}

// The example of GitHub's documentation of its webhooks.
TEST(Crypto, HmacTakesAKeyOfAnyLength) {
  const auto code = hmac_sha256(std::string_view("It's a Secret to Everybody"), "Hello, World!");
  EXPECT_EQ(base::hex(code), "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
}

TEST(Crypto, SecretsAreEqualOrNot) {
  EXPECT_TRUE(are_equal_secrets("abc", "abc"));
  EXPECT_TRUE(are_equal_secrets("", ""));
  for (const std::string_view other : {"", "ab", "abd", "bbc", "abcd"}) {
    EXPECT_FALSE(are_equal_secrets("abc", other)) << other;
  }
}

}  // namespace
}  // namespace parley::lib
