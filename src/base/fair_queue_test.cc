// SPDX-License-Identifier: Apache-2.0
#include "base/fair_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace parley::base {
namespace {

std::vector<int> all_of(FairQueue<int>& queue) {
  std::vector<int> items;
  while (!queue.empty()) {
    items.push_back(queue.pop());
  }
  return items;
}

TEST(FairQueue, KeysThatCostTheSameTakeTurns) {
  FairQueue<int> queue;
  for (const int item : {11, 12, 13}) {
    queue.push(1, item);
  }
  queue.push(2, 21);
  queue.push(3, 31);
  queue.push(3, 32);
  EXPECT_EQ(queue.size(), 6u);
  EXPECT_EQ(all_of(queue), (std::vector<int>{11, 21, 31, 12, 32, 13}));
}

TEST(FairQueue, WhoComesWaitsForOneOfEachOtherAtMost) {
  FairQueue<int> queue;
  for (int n = 0; n < 1'000; ++n) {
    queue.push(1, n);
    queue.push(3, n);
  }
  for (int n = 0; n < 100; ++n) {
    EXPECT_EQ(queue.pop(), n / 2);
  }
  queue.push(2, -1);
  int waited = 0;
  for (; queue.pop() != -1; ++waited) {
  }
  EXPECT_LE(waited, 2);
}

TEST(FairQueue, ALineThatIsNeverEmptyKeepsItsOrder) {
  FairQueue<int> queue;
  int pushed = 0;
  for (; pushed < 100; ++pushed) {
    queue.push(1, pushed);
  }
  for (int popped = 0; popped < 1'000; ++popped) {
    EXPECT_EQ(queue.pop(), popped);
    queue.push(1, pushed++);
  }
  EXPECT_EQ(queue.size(), 100u);
}

// A hundred who are always in line with what costs much, and one who comes now and then with what
// costs little: with turns in a circle it waited for all of them each time.
TEST(FairQueue, WhoAsksForLittleWaitsForNobody) {
  constexpr uint64_t greedy = 100;
  FairQueue<uint64_t> queue(300);
  for (uint64_t key = 1; key <= greedy; ++key) {
    queue.push(key, key);
  }
  for (int round = 0; round < 1'000; ++round) {
    if (round >= 100 && round % 8 == 0) {  // when each of them has had a turn
      queue.push(0, 0);
      EXPECT_EQ(queue.pop(), 0u) << round;
      queue.charge(0, 20);
    }
    const uint64_t key = queue.pop();
    EXPECT_NE(key, 0u);
    queue.charge(key, 300);
    queue.push(key, key);
  }
}

// It gets as much time as each other, and no more.
TEST(FairQueue, WhoAsksForMuchGetsAnEvenShare) {
  FairQueue<int> queue;
  std::vector<uint64_t> cost(3);
  const std::vector<uint64_t> each{10, 100, 1'000};
  for (int key = 0; key < 3; ++key) {
    queue.push(static_cast<uint64_t>(key), key);
  }
  for (int n = 0; n < 100'000; ++n) {
    const auto key = static_cast<size_t>(queue.pop());
    queue.charge(key, each[key]);
    cost[key] += each[key] + 1;
    queue.push(key, static_cast<int>(key));
  }
  EXPECT_NEAR(static_cast<double>(cost[0]), static_cast<double>(cost[2]), 2'000);
  EXPECT_NEAR(static_cast<double>(cost[1]), static_cast<double>(cost[2]), 2'000);
}

TEST(FairQueue, WhoWasAwayHasSavedNothingUp) {
  FairQueue<int> queue;
  queue.push(1, 1);
  for (int n = 0; n < 100; ++n) {
    EXPECT_EQ(queue.pop(), 1);
    queue.charge(1, 1'000);
    queue.push(1, 1);
  }
  int of_the_other = 0;
  for (int n = 0; n < 5; ++n) {
    queue.push(2, 2);
  }
  for (int n = 0; n < 6; ++n) {
    const int item = queue.pop();
    of_the_other += item == 2 ? 1 : 0;
    queue.charge(static_cast<uint64_t>(item), 1'000);
    queue.push(static_cast<uint64_t>(item), item);
  }
  EXPECT_GE(of_the_other, 3);
  EXPECT_LE(of_the_other, 4);
}

// A key that cost much and went away for a moment comes back with its debt; a line is kept for no
// longer than that.
TEST(FairQueue, WhoGoesAwayForAMomentKeepsItsDebt) {
  FairQueue<int> queue;
  queue.push(1, 1);
  EXPECT_EQ(queue.pop(), 1);
  queue.charge(1, 500);
  for (uint64_t key = 2; key < 1'000; ++key) {
    queue.push(key, 2);
    EXPECT_EQ(queue.pop(), 2);
  }
  queue.push(1, 1);
  queue.push(2'000, 2);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace parley::base
