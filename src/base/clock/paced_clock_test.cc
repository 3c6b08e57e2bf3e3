// SPDX-License-Identifier: Apache-2.0
#include "base/clock/paced_clock.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace parley::base {
namespace {

constexpr Time start{1'700'000'000'000'000};

struct Bench {
  ManualClock wall{start};
  ManualClock steady{Time{5'000'000}};
  PacedClock clock{wall, steady};

  // Real time passes, and both clocks with it.
  Time pass(Duration d) {
    wall.advance(d);
    steady.advance(d);
    return clock.now();
  }
  // Someone sets the wall.
  void set(Duration by) { wall.advance(by); }
};

TEST(PacedClock, FollowsTheWallWhileNobodySetsIt) {
  Bench bench;
  EXPECT_EQ(bench.clock.now(), start);
  EXPECT_EQ(bench.pass(milliseconds(3)), start + milliseconds(3));
  EXPECT_EQ(bench.pass(hours(30)), start + hours(30) + milliseconds(3));
  EXPECT_EQ(bench.clock.ahead(), Duration{});
  EXPECT_EQ(bench.clock.jumps(), 0);
}

TEST(PacedClock, TakesASmallStepForwardAtOnce) {
  Bench bench;
  bench.set(seconds(1));
  EXPECT_EQ(bench.clock.now(), start + seconds(1));
  EXPECT_EQ(bench.clock.jumps(), 0);
}

TEST(PacedClock, AJumpForwardAndBackWithinAMinuteLeavesNoTrace) {
  Bench bench;
  bench.set(hours(10));
  EXPECT_EQ(bench.clock.now(), start);
  EXPECT_EQ(bench.pass(seconds(59)), start + seconds(59));
  EXPECT_EQ(bench.clock.ahead().us, -hours(10).us);
  bench.set(Duration{-hours(10).us});
  EXPECT_EQ(bench.pass(seconds(10)), start + seconds(69));
  EXPECT_EQ(bench.clock.ahead(), Duration{});
  EXPECT_EQ(bench.clock.jumps(), 0);
  bench.set(hours(10));  // doubted anew
  EXPECT_EQ(bench.pass(seconds(1)), start + seconds(70));
}

TEST(PacedClock, AJumpForwardThatLastsIsTakenAfterAMinute) {
  Bench bench;
  std::vector<std::pair<Duration, bool>> told;
  bench.clock.on_jump = [&told](Duration by, bool believed) { told.emplace_back(by, believed); };
  bench.set(hours(10));
  bench.clock.now();
  EXPECT_EQ(bench.pass(seconds(59)), start + seconds(59));
  EXPECT_EQ(bench.pass(seconds(1)), start + hours(10) + seconds(60));
  EXPECT_EQ(bench.clock.jumps(), 1);
  EXPECT_EQ(bench.pass(seconds(1)), start + hours(10) + seconds(61));
  EXPECT_EQ(told, (std::vector<std::pair<Duration, bool>>{{hours(10), false}, {hours(10), true}}));
}

TEST(PacedClock, RunsATenthSlowerWhileTheWallIsBehind) {
  Bench bench;
  bench.set(Duration{-seconds(60).us});
  EXPECT_EQ(bench.clock.now(), start);
  EXPECT_EQ(bench.pass(seconds(100)), start + seconds(90));
  EXPECT_EQ(bench.clock.ahead(), seconds(50));
  // It does not matter how often it is read.
  for (int n = 0; n < 100'000; ++n) {
    bench.pass(microseconds(1));
  }
  EXPECT_EQ(bench.clock.now(), start + seconds(90) + milliseconds(90));
  bench.pass(seconds(500));
  EXPECT_EQ(bench.clock.ahead(), Duration{});
  EXPECT_EQ(bench.clock.now(), bench.wall.now());
  const Time next = bench.pass(seconds(1));
  EXPECT_EQ(next, bench.wall.now());
}

// Found by the simulator: the tenth of a long time that was not needed to meet the wall was taken
// from what came later, all of it, and time stood still.
TEST(PacedClock, NeverStandsStillAfterALongTimeThatHardlyHadToBeSlow) {
  Bench bench;
  bench.set(Duration{-5});
  const Time met = bench.pass(hours(1));
  EXPECT_EQ(met, bench.wall.now());
  bench.set(Duration{-hours(10).us});
  EXPECT_EQ(bench.pass(seconds(10)), met + seconds(9));
}

TEST(PacedClock, GoesOnFromTheNewestRecordOfTheJournal) {
  Bench bench;
  bench.clock.not_before(start + hours(1));
  EXPECT_EQ(bench.clock.now(), start + hours(1));
  EXPECT_EQ(bench.pass(seconds(10)), start + hours(1) + seconds(9));
  bench.clock.not_before(start);
  EXPECT_EQ(bench.clock.now(), start + hours(1) + seconds(9));
}

TEST(PacedClock, StandsAClockThatIsSetAgainAndAgain) {
  Bench bench;
  Time last = bench.clock.now();
  for (int n = 0; n < 1'000; ++n) {
    bench.set(n % 3 == 0 ? hours(7) : n % 3 == 1 ? Duration{-hours(12).us} : hours(5));
    const Time now = bench.pass(seconds(10));
    EXPECT_GE(now - last, seconds(9));
    last = now;
  }
}

TEST(BootClock, DoesNotStandStill) {
  BootClock clock;
  const Time first = clock.now();
  Time next = clock.now();
  for (int n = 0; n < 10'000'000 && next == first; ++n) {
    next = clock.now();
  }
  EXPECT_GT(next, first);
}

}  // namespace
}  // namespace parley::base
