// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <gtest/gtest.h>

namespace parley::base {
namespace {

constexpr std::string_view sample = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

TEST(Seq, StartsAtNoneAndCounts) {
  EXPECT_EQ(Seq{}.n, 0u);
  EXPECT_EQ(Seq{}.next(), Seq{1});
  EXPECT_LT(Seq{1}, Seq{2});
}

TEST(Uuid, FormatsWhatItParsed) {
  const auto id = parse_uuid(sample);
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(format_uuid(*id), sample);
}

TEST(Uuid, KeepsTheBytesInTheOrderOfTheText) {
  const auto id = parse_uuid("00010203-0405-0607-0809-0a0b0c0d0e0f");
  ASSERT_TRUE(id.has_value());
  for (size_t n = 0; n < id->bytes.size(); ++n) {
    EXPECT_EQ(id->bytes[n], n);
  }
}

TEST(Uuid, ReadsUpperCaseAndWritesLowerCase) {
  const auto id = parse_uuid("F47AC10B-58CC-4372-A567-0E02B2C3D479");
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(format_uuid(*id), sample);
}

TEST(Uuid, RefusesEveryOtherLength) {
  for (size_t size = 0; size < sample.size(); ++size) {
    EXPECT_EQ(parse_uuid(sample.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(parse_uuid(std::string(sample).append("0")), std::nullopt);
}

TEST(Uuid, RefusesAWrongCharacterAnywhere) {
  for (size_t at = 0; at < sample.size(); ++at) {
    for (const char wrong : {'g', 'G', '/', ':', '@', '`', ' ', '\0', '\xff'}) {
      std::string text(sample);
      text[at] = wrong;
      EXPECT_EQ(parse_uuid(text), std::nullopt) << "at " << at;
    }
    std::string text(sample);
    text[at] = text[at] == '-' ? '0' : '-';
    EXPECT_EQ(parse_uuid(text), std::nullopt) << "at " << at;
  }
}

TEST(Id128, IsNoneOnlyWhenAllZero) {
  EXPECT_TRUE(Id128{}.is_none());
  for (size_t at = 0; at < 16; ++at) {
    Id128 id;
    id.bytes[at] = 1;
    EXPECT_FALSE(id.is_none()) << at;
  }
}

TEST(Id128, SplitsIntoTwoWords) {
  Id128 id;
  id.bytes[0] = 1;
  id.bytes[8] = 2;
  EXPECT_EQ(id.high(), 1u);
  EXPECT_EQ(id.low(), 2u);
}

}  // namespace
}  // namespace parley::base
