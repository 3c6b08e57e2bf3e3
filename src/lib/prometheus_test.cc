// SPDX-License-Identifier: Apache-2.0
#include "lib/prometheus.h"

#include <gtest/gtest.h>

#include <array>

namespace parley::lib {
namespace {

TEST(MetricRegistry, WritesFamiliesByNameWithHelpAndType) {
  MetricRegistry registry;
  registry.gauge("b_bytes", "How much.", 2.5);
  registry.counter("a_total", "How often.", 3, {{"kind", "y"}});
  registry.counter("a_total", "How often.", 4, {{"kind", "x"}});
  EXPECT_EQ(registry.text(),
            "# HELP a_total How often.\n# TYPE a_total counter\n"
            "a_total{kind=\"x\"} 4\na_total{kind=\"y\"} 3\n"
            "# HELP b_bytes How much.\n# TYPE b_bytes gauge\nb_bytes 2.5\n");
}

TEST(MetricRegistry, TotalsReplaceOlderOnesAndNeverGoBack) {
  MetricRegistry registry;
  registry.counter("a_total", "How often.", 3);
  registry.counter("a_total", "How often.", 7);
  registry.counter("a_total", "How often.", 5);
  EXPECT_NE(registry.text().find("\na_total 7\n"), std::string::npos);
}

TEST(MetricRegistry, HistogramHasWhatItWasToldLast) {
  constexpr std::array<double, 2> bounds = {1, 10};
  std::array<uint64_t, 3> counts = {1, 0, 0};
  MetricRegistry registry;
  registry.histogram("t_seconds", "How long.", {bounds, counts, 0.5});
  counts = {2, 1, 1};
  registry.histogram("t_seconds", "How long.", {bounds, counts, 40});
  const std::string text = registry.text();
  EXPECT_NE(text.find("t_seconds_count 4\nt_seconds_sum 40\n"), std::string::npos) << text;
  EXPECT_NE(text.find("t_seconds_bucket{le=\"1\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("t_seconds_bucket{le=\"10\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("t_seconds_bucket{le=\"+Inf\"} 4\n"), std::string::npos) << text;
}

TEST(MetricRegistry, LabelsAreEscaped) {
  MetricRegistry registry;
  registry.gauge("g", "Help.", 1, {{"name", "a\"b\\c\nd"}});
  EXPECT_NE(registry.text().find("g{name=\"a\\\"b\\\\c\\nd\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace parley::lib
