// SPDX-License-Identifier: Apache-2.0
#include "core/limits/token_bucket.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::Random;
using testing::start_time;

// FL-19
TEST(AgentBuckets, CriticalCostsNothingHighHalfAndLowTwice) {
  const Duration normal = cost_of(Priority::normal, 60);
  EXPECT_EQ(normal, base::seconds(1));
  EXPECT_EQ(cost_of(Priority::critical, 60), Duration{});
  EXPECT_EQ(cost_of(Priority::high, 60).us * 2, normal.us);
  EXPECT_EQ(cost_of(Priority::low, 60).us, normal.us * 2);
  EXPECT_EQ(cost_of(Priority::low, 0), Duration{});
}

// FL-19: for every rate, also those that do not divide a minute.
TEST(AgentBuckets, AMinutesWorthGoesAtOnceAndTheNextOneWaits) {
  for (const uint64_t per_min : {1u, 2u, 7u, 30u, 59u, 100u, 997u}) {
    Bucket bucket;
    const Duration cost = cost_of(Priority::normal, per_min);
    for (uint64_t n = 0; n < per_min; ++n) {
      ASSERT_EQ(bucket.take(start_time, cost), start_time) << per_min;
    }
    EXPECT_GT(bucket.take(start_time, cost), start_time) << per_min;
  }
}

TEST(AgentBuckets, AnEmptyBucketGivesInTheOrderAsked) {
  Bucket bucket;
  Time last{};
  for (int n = 0; n < 200; ++n) {
    const Time there = bucket.take(start_time, cost_of(Priority::normal, 60));
    ASSERT_GE(there, last);
    last = there;
  }
  EXPECT_EQ(last, start_time + base::seconds(140));
  EXPECT_EQ(bucket.used(start_time), base::seconds(200));
  EXPECT_EQ(bucket.falls_to(base::seconds(48)), start_time + base::seconds(152));
}

// FL-19: whatever comes when, a minute never sees more than a bucket and its refill.
TEST(AgentBuckets, NoMinuteSeesMoreThanTwiceTheRate) {
  Random random(3);
  Bucket bucket;
  Time now = start_time;
  std::map<Time, int> passed;
  for (int n = 0; n < 20'000; ++n) {
    now = now + base::milliseconds(random.below(1'500));
    ++passed[bucket.take(now, cost_of(Priority::normal, 30))];
  }
  for (auto from = passed.begin(); from != passed.end(); ++from) {
    int count = 0;
    for (auto at = from; at != passed.end() && at->first < from->first + base::minutes(1); ++at) {
      count += at->second;
    }
    ASSERT_LE(count, 60);
  }
}

// Full ones are forgotten, and that changes nothing: a model that keeps all gives the same.
TEST(AgentBuckets, BucketsForgetOnlyWhatIsFull) {
  Random random(5);
  Buckets buckets;
  std::map<uint64_t, Bucket> model;
  Time now = start_time;
  for (int n = 0; n < 50'000; ++n) {
    now = now + base::milliseconds(random.below(100));
    const uint64_t key = Buckets::topic("t" + std::to_string(random.below(5'000)));
    const Duration cost = cost_of(Priority::low, 100);
    ASSERT_EQ(buckets.at(key, now).take(now, cost), model[key].take(now, cost));
  }
  EXPECT_LT(buckets.size(), 200u);
  std::erase_if(model, [now](const auto& item) { return item.second.full() <= now; });
  EXPECT_EQ(buckets.taken(now).size(), model.size());
}

TEST(AgentBuckets, APairHasADirection) {
  EXPECT_NE(Buckets::pair(Seq{1}, Seq{2}), Buckets::pair(Seq{2}, Seq{1}));
  EXPECT_NE(Buckets::pair(Seq{1}, Seq{23}), Buckets::pair(Seq{12}, Seq{3}));
}

}  // namespace
}  // namespace parley::core
