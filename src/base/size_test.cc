// SPDX-License-Identifier: Apache-2.0
#include "base/size.h"

#include <gtest/gtest.h>

namespace parley::base {
namespace {

TEST(Size, FormatTakesTheLargestUnitThatDivides) {
  EXPECT_EQ(format_size(0), "0B");
  EXPECT_EQ(format_size(1'000), "1000B");
  EXPECT_EQ(format_size(10 * 1'024), "10KB");
  EXPECT_EQ(format_size(1'280 * 1'024), "1280KB");
  EXPECT_EQ(format_size(2 * 1'024 * 1'024), "2MB");
  EXPECT_EQ(format_size(uint64_t{3} << 40), "3TB");
}

TEST(Size, ParseReadsWhatFormatWrites) {
  for (const uint64_t bytes :
       {uint64_t{0}, uint64_t{1'023}, uint64_t{1} << 20, uint64_t{5} << 30}) {
    EXPECT_EQ(parse_size(format_size(bytes)), bytes);
  }
  EXPECT_EQ(parse_size("4096"), 4'096);
}

TEST(Size, ParseRefusesEverythingElse) {
  for (const char* text : {"", "KB", "-1KB", "1kb", "1.5MB", "1 MB", "1MBB", "16777216TB"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace parley::base
