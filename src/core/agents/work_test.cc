// SPDX-License-Identifier: Apache-2.0
#include "core/agents/work.h"

#include <gtest/gtest.h>

namespace parley::core {
namespace {

constexpr Time start{1'800'000'000'000'000};

// SP-10
TEST(Work, SumsUpTheLastHour) {
  Work work;
  work.answered(start, {true, base::seconds(2), 900'000});
  work.answered(start + base::minutes(10), {true, base::seconds(4), 700'000});
  work.answered(start + base::minutes(20), {false, base::seconds(3), -1});
  work.timed_out(start + base::minutes(20));
  const Work::Sum sum = work.last_hour(start + base::minutes(30));
  EXPECT_EQ(sum.completed, 2u);
  EXPECT_EQ(sum.failed, 2u);
  EXPECT_EQ(sum.average_response_ms(), 3'000u);
  EXPECT_EQ(sum.error_rate_ppm(), 500'000u);
  EXPECT_EQ(sum.average_confidence_ppm(), 800'000u);
}

TEST(Work, ForgetsWhatIsOlderThanAnHour) {
  Work work;
  work.answered(start, {true, base::seconds(2), -1});
  EXPECT_EQ(work.last_hour(start + base::minutes(54)).completed, 1u);
  EXPECT_EQ(work.last_hour(start + base::minutes(61)).completed, 0u);
}

TEST(Work, KeepsTwelveSteps) {
  Work work;
  for (int n = 0; n < 100; ++n) {
    work.answered(start + base::minutes(5 * n), {true, base::seconds(1), -1});
  }
  EXPECT_EQ(work.last_hour(start + base::minutes(5 * 99)).completed, 12u);
}

TEST(Work, SaysNothingOfOneWhoDidNothing) {
  const Work::Sum sum = Work().last_hour(start);
  EXPECT_EQ(sum.average_response_ms(), 0u);
  EXPECT_EQ(sum.error_rate_ppm(), 0u);
  EXPECT_EQ(sum.average_confidence_ppm(), 0u);
}

}  // namespace
}  // namespace parley::core
