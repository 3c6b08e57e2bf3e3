// SPDX-License-Identifier: Apache-2.0
#include "core/limits/breaker.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::start_time;
using State = Breaker::State;

constexpr Duration pause = base::seconds(60);
constexpr uint64_t ana = 1;
constexpr uint64_t bo = 2;

Breaker after_failures(int count) {
  Breaker breaker;
  for (uint64_t n = 0; n < static_cast<uint64_t>(count); ++n) {
    breaker.failed(start_time, 10, n % 2 + 1);
  }
  return breaker;
}

// FL-21
TEST(Breaker, OpensAtTheThresholdOfFailuresInARow) {
  EXPECT_EQ(after_failures(9).state(start_time, pause), State::closed);
  const Breaker open = after_failures(10);
  EXPECT_EQ(open.state(start_time, pause), State::open);
  EXPECT_EQ(open.reason(), Breaker::Reason::failures);
  EXPECT_EQ(open.refuses(start_time, pause, ana), pause);
}

TEST(Breaker, ASuccessBreaksTheRow) {
  Breaker breaker = after_failures(9);
  breaker.succeeded();
  breaker.failed(start_time, 10, ana);
  EXPECT_EQ(breaker.failures(), 1u);
  EXPECT_EQ(breaker.state(start_time, pause), State::closed);
}

// FL-21: one test message after the pause, and no second one until it is decided.
TEST(Breaker, LetsOneThroughAfterThePause) {
  Breaker breaker = after_failures(10);
  const Time later = start_time + pause;
  EXPECT_EQ(breaker.refuses(start_time + base::seconds(59), pause, ana), base::seconds(1));
  EXPECT_EQ(breaker.refuses(later, pause, ana), Duration{});
  EXPECT_EQ(breaker.state(later, pause), State::half_open);
  breaker.admitted(later, ana);
  EXPECT_EQ(breaker.refuses(later, pause, ana), pause);
  EXPECT_EQ(breaker.state(later, pause), State::half_open);
}

TEST(Breaker, TheTestDecides) {
  Breaker good = after_failures(10);
  good.admitted(start_time + pause, ana);
  good.succeeded();
  EXPECT_EQ(good.state(start_time + pause, pause), State::closed);
  EXPECT_EQ(good.reason(), Breaker::Reason::nothing);

  Breaker bad = after_failures(10);
  bad.admitted(start_time + pause, ana);
  bad.failed(start_time + pause, 10, ana);
  EXPECT_EQ(bad.state(start_time + pause, pause), State::open);
  EXPECT_EQ(bad.refuses(start_time + pause, pause, ana), pause);
}

// A test that nobody ever took, as by a receiver that is away, does not keep it shut for ever.
TEST(Breaker, AnUndecidedTestIsFollowedByAnother) {
  Breaker breaker = after_failures(10);
  breaker.admitted(start_time + pause, ana);
  EXPECT_EQ(breaker.refuses(start_time + pause + pause, pause, ana), Duration{});
}

TEST(Breaker, ANearlyFullInboxOpensIt) {
  Breaker breaker;
  breaker.filled(start_time);
  EXPECT_EQ(breaker.reason(), Breaker::Reason::queue);
  breaker.filled(start_time + base::seconds(30));
  EXPECT_EQ(breaker.since(), start_time);
}

// A sender whose message failed before is not the one for whom the full inbox shut it: a test of
// another one that fails leaves it shut for all.
TEST(Breaker, AFullInboxIsNotOneSendersDoing) {
  Breaker breaker;
  breaker.failed(start_time, 10, ana);
  breaker.filled(start_time);
  EXPECT_EQ(breaker.refuses(start_time, pause, ana), pause);
  EXPECT_EQ(breaker.refuses(start_time, pause, bo), pause);
  const Time later = start_time + pause;
  breaker.admitted(later, ana);
  breaker.failed(later, 10, ana);
  EXPECT_EQ(breaker.reason(), Breaker::Reason::failures);
  EXPECT_EQ(breaker.refuses(later, pause, ana), pause);
  EXPECT_EQ(breaker.refuses(later, pause, bo), pause);
}

TEST(Breaker, FailuresOfOneSenderShutItForThatSenderOnly) {
  Breaker breaker;
  for (int n = 0; n < 10; ++n) {
    breaker.failed(start_time, 10, ana);
  }
  EXPECT_EQ(breaker.refuses(start_time, pause, ana), pause);
  EXPECT_EQ(breaker.refuses(start_time, pause, bo), Duration{});
  breaker.admitted(start_time, bo);  // which is no test
  EXPECT_EQ(breaker.state(start_time, pause), State::open);
  breaker.failed(start_time, 10, bo);
  EXPECT_EQ(breaker.refuses(start_time, pause, bo), pause);
  EXPECT_EQ(breaker.refuses(start_time, pause, ana), pause);
}

TEST(Breaker, AThresholdOfZeroNeverOpensIt) {
  Breaker breaker;
  for (int n = 0; n < 100; ++n) {
    breaker.failed(start_time, 0, ana);
  }
  EXPECT_EQ(breaker.state(start_time, pause), State::closed);
}

}  // namespace
}  // namespace parley::core
