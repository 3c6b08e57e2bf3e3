// SPDX-License-Identifier: Apache-2.0
#include "view/feed/waiters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace parley::view {
namespace {

using base::Seq;
using std::chrono::seconds;

constexpr Waiters::TimePoint start{seconds(100)};

// Three who wait for the places 1, 2 and 3; the later the place, the sooner the deadline.
Waiters three() {
  Waiters waiters;
  for (const uint64_t n : {1, 2, 3}) {
    waiters.add({Seq{n}, start + seconds(10 - n), [](const Waiters::Reached&) {}});
  }
  return waiters;
}

std::vector<uint64_t> places(const std::vector<Waiters::Waiter>& taken) {
  std::vector<uint64_t> places;
  for (const Waiters::Waiter& waiter : taken) {
    EXPECT_TRUE(waiter.tell);
    places.push_back(waiter.seq.n);
  }
  std::ranges::sort(places);
  return places;
}

using Places = std::vector<uint64_t>;

TEST(Waiters, AreTakenOnceWhenTheirPlaceIsReached) {
  Waiters waiters = three();
  EXPECT_EQ(places(waiters.take_ready(Seq{0}, start)), Places{});
  EXPECT_EQ(places(waiters.take_ready(Seq{2}, start)), (Places{1, 2}));
  EXPECT_EQ(waiters.size(), 1u);
  EXPECT_EQ(places(waiters.take_ready(Seq{2}, start)), Places{});
  EXPECT_EQ(places(waiters.take_ready(Seq{9}, start)), Places{3});
  EXPECT_TRUE(waiters.empty());
}

TEST(Waiters, AreTakenWhenTheirDeadlineHasCome) {
  Waiters waiters = three();
  EXPECT_EQ(waiters.next_deadline(), start + seconds(7));
  EXPECT_EQ(places(waiters.take_ready(Seq{0}, start + seconds(7))), Places{3});
  EXPECT_EQ(waiters.next_deadline(), start + seconds(8));
  EXPECT_EQ(places(waiters.take_ready(Seq{0}, start + seconds(60))), (Places{1, 2}));
  EXPECT_EQ(waiters.next_deadline(), Waiters::TimePoint::max());
}

TEST(Waiters, CanAllBeTaken) {
  Waiters waiters = three();
  EXPECT_EQ(places(waiters.take_all()), (Places{1, 2, 3}));
  EXPECT_TRUE(waiters.empty());
}

}  // namespace
}  // namespace parley::view
