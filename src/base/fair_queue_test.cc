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

TEST(FairQueue, KeysTakeTurnsAndEachLineKeepsItsOrder) {
  FairQueue<int> queue;
  for (const int item : {11, 12, 13}) {
    queue.push(1, item);
  }
  queue.push(2, 21);
  queue.push(3, 31);
  queue.push(3, 32);
  EXPECT_EQ(queue.keys(), 3u);
  EXPECT_EQ(all_of(queue), (std::vector<int>{11, 21, 31, 12, 32, 13}));
  EXPECT_EQ(queue.keys(), 0u);
}

TEST(FairQueue, WhoComesWaitsForOneOfEachOther) {
  FairQueue<int> queue;
  for (int n = 0; n < 1'000; ++n) {
    queue.push(1, n);
  }
  EXPECT_EQ(queue.pop(), 0);
  queue.push(2, -1);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), -1);
  EXPECT_EQ(queue.size(), 998u);
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

}  // namespace
}  // namespace parley::base
