// SPDX-License-Identifier: Apache-2.0
#include "lib/prometheus.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

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
  EXPECT_EQ(registry.text(),
            "# HELP t_seconds How long.\n# TYPE t_seconds histogram\n"
            "t_seconds_count 4\nt_seconds_sum 40\n"
            "t_seconds_bucket{le=\"1\"} 2\nt_seconds_bucket{le=\"10\"} 3\n"
            "t_seconds_bucket{le=\"+Inf\"} 4\n");
}

TEST(MetricRegistry, HistogramHasItsLabelsOnEveryLineAndTheBoundLast) {
  constexpr std::array<double, 1> bounds = {0.25};
  constexpr std::array<uint64_t, 2> counts = {3, 1};
  MetricRegistry registry;
  registry.histogram("t_ms", "How long.", {bounds, counts, 1.5}, {{"z", "2"}, {"a", "1"}});
  EXPECT_EQ(registry.text(),
            "# HELP t_ms How long.\n# TYPE t_ms histogram\n"
            "t_ms_count{a=\"1\",z=\"2\"} 4\nt_ms_sum{a=\"1\",z=\"2\"} 1.5\n"
            "t_ms_bucket{a=\"1\",z=\"2\",le=\"0.25\"} 3\n"
            "t_ms_bucket{a=\"1\",z=\"2\",le=\"+Inf\"} 4\n");
}

TEST(MetricRegistry, LabelsAreEscaped) {
  MetricRegistry registry;
  registry.gauge("g", "Help.", 1, {{"name", "a\"b\\c\nd"}});
  EXPECT_NE(registry.text().find("g{name=\"a\\\"b\\\\c\\nd\"} 1\n"), std::string::npos);
}

TEST(MetricRegistry, LabelsAreInTheOrderOfTheirNamesAndSamplesInThatOfTheirLabels) {
  MetricRegistry registry;
  registry.gauge("g", "Help.", 1, {{"b", "1"}, {"a", "2"}});
  registry.gauge("g", "Help.", 2, {{"b", "0"}, {"a", "1"}});
  registry.gauge("g", "Help.", 3);
  EXPECT_EQ(registry.text(),
            "# HELP g Help.\n# TYPE g gauge\n"
            "g 3\ng{a=\"1\",b=\"0\"} 2\ng{a=\"2\",b=\"1\"} 1\n");
}

TEST(MetricRegistry, HelpIsEscapedButKeepsItsQuotes) {
  MetricRegistry registry;
  registry.gauge("g", "Says \"yes\" or\n\\no.", 1);
  EXPECT_TRUE(registry.text().starts_with("# HELP g Says \"yes\" or\\n\\\\no.\n"))
      << registry.text();
}

TEST(MetricRegistry, NumbersAreShortAndThoseThatAreNoneHaveTheirWords) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto written = [](double value) {
    MetricRegistry registry;
    registry.gauge("g", "Help.", value);
    const std::string text = registry.text();
    return text.substr(text.rfind(' ') + 1);
  };
  EXPECT_EQ(written(0.1), "0.1\n");
  EXPECT_EQ(written(1'700'000'000.25), "1700000000.25\n");
  EXPECT_EQ(written(9'007'199'254'740'992), "9007199254740992\n");
  EXPECT_EQ(written(1e-7), "1e-07\n");
  EXPECT_EQ(written(infinity), "+Inf\n");
  EXPECT_EQ(written(-infinity), "-Inf\n");
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "NaN\n");
}

TEST(MetricRegistryDeathTest, ANameHasOneKind) {
  MetricRegistry registry;
  registry.gauge("g", "Help.", 1);
  EXPECT_DEATH(registry.counter("g", "Help.", 1), "kind");
}

}  // namespace
}  // namespace parley::lib
