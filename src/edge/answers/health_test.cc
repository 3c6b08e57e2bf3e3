// SPDX-License-Identifier: Apache-2.0
#include "edge/answers/health.h"

#include <gtest/gtest.h>

#include <string>

namespace parley::edge {
namespace {

constexpr base::Time now{1'800'000'000'000'000};

std::string text_of(const core::Work& work, std::string_view report) {
  std::string text;
  lib::JsonWriter out(text);
  out.object();
  render_health(work, now, report, out);
  out.end_object();
  return text;
}

// SP-10
TEST(Health, NamesTheFiguresInWhichAnAgentIsWrong) {
  core::Work work;
  work.answered(now, {.well = true, .after = base::seconds(2), .confidence_ppm = 900'000});
  work.answered(now, {.well = false, .after = base::seconds(2)});
  work.report = base::Seq{7};
  EXPECT_EQ(text_of(work, R"({"performance_metrics":{"tasks_completed_last_hour":12,)"
                          R"("average_response_time_ms":2100,"error_rate_percentage":0.5,)"
                          R"("confidence_score_average":0.92}})"),
            R"({"health":{"tasks_completed_last_hour":1,"tasks_failed_last_hour":1,)"
            R"("average_response_time_ms":2000,"error_rate_ppm":500000,)"
            R"("confidence_average_ppm":900000,"report":7,)"
            R"("differs":["tasks_completed_last_hour","error_rate_percentage"],)"
            R"("claimed":{"tasks_completed_last_hour":12,"average_response_time_ms":2100,)"
            R"("error_rate_percentage":0.5,"confidence_score_average":0.92}}})");
}

TEST(Health, SaysOnlyWhatItSawOfAnAgentThatReportsNothing) {
  EXPECT_EQ(text_of({}, ""),
            R"({"health":{"tasks_completed_last_hour":0,"tasks_failed_last_hour":0,)"
            R"("average_response_time_ms":0,"error_rate_ppm":0,"confidence_average_ppm":0}})");
}

}  // namespace
}  // namespace parley::edge
