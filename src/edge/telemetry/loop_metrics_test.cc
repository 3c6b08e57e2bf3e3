// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/loop_metrics.h"

#include <gtest/gtest.h>

namespace parley::edge {
namespace {

std::string text_of(const LoopMetrics& loop) {
  lib::MetricRegistry registry;
  loop.tell(registry);
  return registry.text();
}

bool has(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

TEST(LoopMetrics, TheWorkOfATurnIsWithoutTheJournals) {
  LoopMetrics loop;
  loop.turned({.took = base::milliseconds(8), .cpu = base::milliseconds(1)}, base::milliseconds(6));
  loop.turned({.took = base::milliseconds(2), .cpu = base::milliseconds(1)}, base::milliseconds(9));
  const std::string text = text_of(loop);
  EXPECT_TRUE(has(text, "parley_loop_turn_seconds_sum 0.01")) << text;
  EXPECT_TRUE(has(text, "parley_loop_turn_worst_seconds 0.008")) << text;
  EXPECT_TRUE(has(text, "parley_loop_work_seconds_sum 0.002")) << text;
  EXPECT_TRUE(has(text, "parley_loop_cpu_seconds_sum 0.002")) << text;
}

TEST(LoopMetrics, AStepWithoutEntriesIsNone) {
  LoopMetrics loop;
  loop.stepped(0, base::milliseconds(1));
  loop.stepped(5, base::milliseconds(1));
  const std::string text = text_of(loop);
  EXPECT_TRUE(has(text, "parley_step_entries_count 1")) << text;
  EXPECT_TRUE(has(text, "parley_step_entries_sum 5")) << text;
}

}  // namespace
}  // namespace parley::edge
