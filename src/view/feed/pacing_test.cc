// SPDX-License-Identifier: Apache-2.0
#include "view/feed/pacing.h"

#include <gtest/gtest.h>

#include <chrono>

namespace parley::view {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Pacing::TimePoint start{hours(1)};

// A second of rest, ten in a burst of a thousand entries a second; it looks every tenth of a
// second.
Pacing::Options options() {
  return {.interval = milliseconds(1'000),
          .burst_per_second = 1'000,
          .burst_max = milliseconds(10'000),
          .look_every = milliseconds(100)};
}

void count(Pacing& pacing, size_t entries) {
  for (size_t n = 0; n < entries; ++n) {
    pacing.count_entry();
  }
}

// Brings so many entries in each tenth of a second; returns when it is due, from the start.
milliseconds due_after(Pacing& pacing, size_t entries, size_t burst_looks) {
  milliseconds passed{0};
  for (size_t look = 0; !pacing.is_due(start + passed); ++look) {
    count(pacing, look < burst_looks ? entries : 1);
    passed += milliseconds(100);
  }
  return passed;
}

TEST(Pacing, WhatComesInSlowlyWaitsForTheInterval) {
  Pacing pacing(options());
  EXPECT_EQ(due_after(pacing, 99, 1'000), milliseconds(1'000));
}

TEST(Pacing, ABurstWaitsForAsLongAsABurstMay) {
  Pacing pacing(options());
  EXPECT_EQ(due_after(pacing, 100, 1'000), milliseconds(10'000));
}

TEST(Pacing, TheEndOfABurstIsSeenAtTheNextLook) {
  Pacing pacing(options());
  EXPECT_EQ(due_after(pacing, 100, 50), milliseconds(5'100));
}

TEST(Pacing, LooksNoMoreOftenThanItShould) {
  Pacing pacing(options());
  count(pacing, 1);
  EXPECT_FALSE(pacing.is_due(start));
  EXPECT_EQ(pacing.next_look(), start + milliseconds(100));
  count(pacing, 50);
  EXPECT_FALSE(pacing.is_due(start + milliseconds(99)));
  EXPECT_EQ(pacing.next_look(), start + milliseconds(100));
  EXPECT_FALSE(pacing.is_due(start + milliseconds(100)));
  EXPECT_EQ(pacing.next_look(), start + milliseconds(200));
}

TEST(Pacing, AfterARestTheWaitBeginsAnew) {
  Pacing pacing(options());
  EXPECT_FALSE(pacing.is_due(start));
  EXPECT_TRUE(pacing.is_due(start + milliseconds(1'000)));
  pacing.rest();
  EXPECT_FALSE(pacing.is_due(start + milliseconds(1'500)));
  EXPECT_FALSE(pacing.is_due(start + milliseconds(2'499)));
  EXPECT_TRUE(pacing.is_due(start + milliseconds(2'500)));
}

}  // namespace
}  // namespace parley::view
