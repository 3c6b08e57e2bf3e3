// SPDX-License-Identifier: Apache-2.0
#include "core/model/wire.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace parley::core {
namespace {

std::string varint(uint64_t value) {
  std::string bytes;
  Writer(bytes).varint(value);
  return bytes;
}

TEST(Wire, ValuesComeBackAsTheyWere) {
  std::string bytes;
  Writer out(bytes);
  out.u8(200);
  out.boolean(true);
  out.fixed64(0x0123456789abcdef);
  out.fixed32(0xdeadbeef);
  out.id(base::Id128{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
  out.seq(base::Seq{300});
  out.time(base::Time{-5});
  out.duration(base::hours(72));
  out.text("");
  out.text(std::string_view("a\0b", 3));

  Reader in(bytes);
  EXPECT_EQ(in.u8(), 200);
  EXPECT_TRUE(in.boolean());
  EXPECT_EQ(in.fixed64(), 0x0123456789abcdefu);
  EXPECT_EQ(in.fixed32(), 0xdeadbeefu);
  EXPECT_EQ(in.id(), (base::Id128{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}));
  EXPECT_EQ(in.seq(), base::Seq{300});
  EXPECT_EQ(in.time(), base::Time{-5});
  EXPECT_EQ(in.duration(), base::hours(72));
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.text(), std::string_view("a\0b", 3));
  EXPECT_TRUE(in.done());
}

TEST(Wire, WordsAreLittleEndian) {
  std::string bytes;
  Writer(bytes).fixed32(0x04030201);
  EXPECT_EQ(bytes, "\x01\x02\x03\x04");
}

TEST(Wire, VarintsOfEveryLengthComeBack) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1}) {
      const std::string bytes = varint(value);
      Reader in(bytes);
      EXPECT_EQ(in.varint(), value);
      EXPECT_TRUE(in.done()) << value;
    }
  }
  EXPECT_EQ(varint(std::numeric_limits<uint64_t>::max()).size(), 10u);
}

TEST(Wire, TruncatedVarintFails) {
  const std::string bytes = varint(std::numeric_limits<uint64_t>::max());
  for (size_t size = 0; size < bytes.size(); ++size) {
    Reader in(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(in.varint(), 0u);
    EXPECT_FALSE(in.ok()) << size;
  }
}

TEST(Wire, EachNumberHasOneForm) {
  for (const std::string& bytes :
       {std::string("\x80\x00", 2), std::string("\x81\x80\x00", 3),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11)}) {
    Reader in(bytes);
    EXPECT_EQ(in.varint(), 0u);
    EXPECT_FALSE(in.ok());
  }
}

TEST(Wire, ReadingOnAfterAFailureGivesZeros) {
  Reader in(std::string_view("\x05"));
  EXPECT_EQ(in.fixed64(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.u8(), 0);
  EXPECT_EQ(in.text(), "");
  EXPECT_TRUE(in.id().is_none());
  EXPECT_EQ(in.count(), 0u);
  EXPECT_EQ(in.duration(), base::Duration{});
  EXPECT_EQ(in.left(), 0u);
  EXPECT_FALSE(in.done());
}

TEST(Wire, TextLongerThanTheInputFails) {
  for (const uint64_t size : {uint64_t{4}, uint64_t{1} << 40, ~uint64_t{0}}) {
    const std::string bytes = varint(size) + "abc";
    Reader in(bytes);
    EXPECT_EQ(in.text(), "");
    EXPECT_FALSE(in.ok()) << size;
  }
}

TEST(Wire, CountIsBoundedByWhatTheInputCanHold) {
  const std::string bytes = varint(3) + "abcdef";
  EXPECT_EQ(Reader(bytes).count(2), 3u);
  Reader in(bytes);
  EXPECT_EQ(in.count(3), 0u);
  EXPECT_FALSE(in.ok());
}

TEST(Wire, BooleansAndEnumeratorsAreHeldToTheirRange) {
  enum class Letter : uint8_t { a, b, c };
  const std::string bytes("\x02\x03\x02");
  Reader in(bytes);
  EXPECT_EQ(in.enumerator(Letter::c), Letter::c);
  EXPECT_EQ(in.enumerator(Letter::c), Letter::a);
  EXPECT_FALSE(in.ok());
  EXPECT_FALSE(Reader(std::string_view("\x02")).boolean());
}

// A record that could not be read back would stop every node that reads it, for ever.
TEST(Wire, NegativeDurationIsWrittenAsZero) {
  std::string bytes;
  Writer(bytes).duration(base::Duration{-1});
  Reader in(bytes);
  EXPECT_EQ(in.duration(), base::Duration{});
  EXPECT_TRUE(in.done());
}

TEST(Wire, DurationBeyondTheLargestFails) {
  const std::string bytes = varint(uint64_t{1} << 63);
  Reader in(bytes);
  EXPECT_EQ(in.duration(), base::Duration{});
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace parley::core
