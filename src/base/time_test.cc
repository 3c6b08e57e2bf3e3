// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace parley::base {
namespace {

constexpr int64_t int64_max = std::numeric_limits<int64_t>::max();
constexpr int64_t int64_min = std::numeric_limits<int64_t>::min();

TEST(Time, FormatsTheEpochAndItsNeighbours) {
  EXPECT_EQ(format_time(Time{0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(Time{999}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(Time{1'000}), "1970-01-01T00:00:00.001Z");
  EXPECT_EQ(format_time(Time{-1}), "1969-12-31T23:59:59.999Z");
}

TEST(Time, FormatsKnownMoments) {
  EXPECT_EQ(format_time(Time{1'000'000'000'000'000}), "2001-09-09T01:46:40.000Z");
  EXPECT_EQ(format_time(Time{1'234'567'890'123'456}), "2009-02-13T23:31:30.123Z");
  EXPECT_EQ(format_time(Time{4'102'444'799'999'999}), "2099-12-31T23:59:59.999Z");
}

TEST(Time, KnowsLeapYears) {
  EXPECT_EQ(format_time(Time{951'782'400'000'000}), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(format_time(Time{951'868'800'000'000}), "2000-03-01T00:00:00.000Z");
  EXPECT_EQ(format_time(Time{1'709'164'800'000'000}), "2024-02-29T00:00:00.000Z");
  EXPECT_EQ(format_time(Time{4'107'456'000'000'000}), "2100-02-28T00:00:00.000Z");
  EXPECT_EQ(format_time(Time{4'107'542'400'000'000}), "2100-03-01T00:00:00.000Z");
}

TEST(Time, FormatsTheFirstAndTheLastMoment) {
  EXPECT_EQ(format_time(time_max), "294247-01-10T04:00:54.775Z");
  EXPECT_EQ(format_time(Time{int64_min}), "-290308-12-21T19:59:05.224Z");
}

TEST(Time, ArithmeticSaturates) {
  EXPECT_EQ(time_max + microseconds(1), time_max);
  EXPECT_EQ(Time{int64_min} + microseconds(-1), Time{int64_min});
  EXPECT_EQ(hours(int64_max), Duration{int64_max});
  EXPECT_EQ(milliseconds(int64_min), Duration{int64_min});
  EXPECT_EQ(Time{5} - Time{7}, microseconds(-2));
  EXPECT_EQ(time_max - Time{-1}, Duration{int64_max});
  EXPECT_EQ(Time{0} - Time{int64_min}, Duration{int64_max});
  EXPECT_EQ(Time{-1} - Time{int64_min}, Duration{int64_max});
  EXPECT_EQ(Time{-2} - time_max, Duration{int64_min});
}

TEST(Duration, FormatsInTheLargestUnitThatDivides) {
  EXPECT_EQ(format_duration(Duration{0}), "0s");
  EXPECT_EQ(format_duration(microseconds(7)), "7us");
  EXPECT_EQ(format_duration(milliseconds(500)), "500ms");
  EXPECT_EQ(format_duration(seconds(30)), "30s");
  EXPECT_EQ(format_duration(seconds(90)), "90s");
  EXPECT_EQ(format_duration(minutes(5)), "5m");
  EXPECT_EQ(format_duration(hours(72)), "72h");
  EXPECT_EQ(format_duration(seconds(-30)), "-30s");
}

TEST(Duration, RoughIsNeverLess) {
  EXPECT_EQ(rough(Duration{0}), Duration{0});
  EXPECT_EQ(rough(Duration{1}), milliseconds(1));
  EXPECT_EQ(rough(Duration{5'936'001}), milliseconds(5'937));
  EXPECT_EQ(rough(seconds(10)), seconds(10));
  EXPECT_EQ(rough(Duration{10'000'001}), seconds(11));
  EXPECT_EQ(rough(Duration{int64_max}), Duration{int64_max});
  EXPECT_EQ(rough(Duration{-1}), Duration{-1});
}

TEST(Duration, ParsesWhatItFormats) {
  for (const int64_t us : {int64_t{0}, int64_t{1}, int64_t{1'500}, int64_t{60'000'000},
                           int64_t{5'400'000'000}, int64_t{259'200'000'000}, int64_max}) {
    EXPECT_EQ(parse_duration(format_duration(Duration{us})), Duration{us}) << us;
  }
}

TEST(Duration, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "5", "s", "-5s", "+5s", " 5s", "5 s", "5S", "5d", "1.5s", "5s ",
                           "5sm", "0x5s", "PT5S", "99999999999999999999s"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(Duration, RefusesWhatOverflows) {
  EXPECT_EQ(parse_duration("9223372036854775807us"), Duration{int64_max});
  EXPECT_EQ(parse_duration("9223372036854775807ms"), std::nullopt);
  EXPECT_EQ(parse_duration("2562047788h"), Duration{2'562'047'788 * 3'600'000'000});
  EXPECT_EQ(parse_duration("2562047789h"), std::nullopt);
}

TEST(ManualClock, MovesOnlyWhenMoved) {
  ManualClock clock(Time{10});
  EXPECT_EQ(clock.now(), Time{10});
  EXPECT_EQ(clock.now(), Time{10});
  clock.advance(seconds(1));
  EXPECT_EQ(clock.now(), Time{1'000'010});
}

}  // namespace
}  // namespace parley::base
