// SPDX-License-Identifier: Apache-2.0
#include "app/bench/stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lib/json.h"

namespace parley::app {
namespace {

TEST(Latencies, NoneHaveNoQuantile) {
  const Latencies none;
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.quantile_us(0.5), 0);
}

TEST(Latencies, SmallValuesAreExact) {
  Latencies some;
  for (int64_t ns = 1; ns <= 100; ++ns) {
    some.add(ns);
  }
  EXPECT_DOUBLE_EQ(some.quantile_us(0.5), 0.050);
  EXPECT_DOUBLE_EQ(some.quantile_us(0.99), 0.099);
  EXPECT_DOUBLE_EQ(some.quantile_us(1), 0.100);
  EXPECT_DOUBLE_EQ(some.quantile_us(0), 0.001);
}

TEST(Latencies, QuantilesAreThoseOfASortedListGiveOrTakeABucket) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> spread(12, 2);
  std::vector<int64_t> all;
  Latencies some;
  for (int n = 0; n < 10'000; ++n) {
    all.push_back(static_cast<int64_t>(spread(random)));
    some.add(all.back());
  }
  std::ranges::sort(all);
  for (const double share : {0.01, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const auto rank = static_cast<size_t>(share * 10'000) - 1;
    const double exact = static_cast<double>(all[rank]) / 1'000;
    EXPECT_NEAR(some.quantile_us(share), exact, exact * 0.016) << share;
  }
}

TEST(Latencies, ManyAtOnceCountAsMany) {
  Latencies some;
  some.add(10, 99);
  some.add(90, 1);
  EXPECT_EQ(some.count(), 100u);
  EXPECT_DOUBLE_EQ(some.quantile_us(0.99), 0.010);
  EXPECT_DOUBLE_EQ(some.quantile_us(1), 0.090);
}

TEST(Latencies, WhatIsOutOfBoundsCountsAsTheBound) {
  Latencies some;
  some.add(-5);
  EXPECT_EQ(some.quantile_us(1), 0);
  some.add(INT64_MAX);
  EXPECT_NEAR(some.quantile_us(1), static_cast<double>(Latencies::ns_max) / 1'000, 1e7);
}

TEST(BenchFigures, NumbersHaveThreeDigits) {
  EXPECT_EQ(short_number(0), "0.00");
  EXPECT_EQ(short_number(9.994), "9.99");
  EXPECT_EQ(short_number(9.996), "10.0");
  EXPECT_EQ(short_number(99.96), "100");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(999.6), "1.00 k");
  EXPECT_EQ(short_number(1'234'567), "1.23 M");
  EXPECT_EQ(short_number(5e12), "5000 G");
}

// 1,000 messages in 2 seconds, 300 us each, beside 1,000 records a second of 80 us and an echo of
// 20 us.
BenchReport a_report() {
  BenchRow row{.name = "publish-1x64", .unit = "messages", .window = 64, .bytes = 256};
  row.broker = {.count = 1'000, .seconds = 2};
  row.broker.latencies.add(300'000, 1'000);
  row.log = {.count = 500, .seconds = 0.5};
  row.log.latencies.add(80'000, 500);
  row.echo = {.count = 10, .seconds = 1};
  row.echo.latencies.add(20'000, 10);
  row.log_batch = 64;
  row.cpu_ns = 5'000'000;
  return {
      .url = "http://127.0.0.1:1", .directory = "/d", .idle_rss_bytes = 12'345'678, .rows = {row}};
}

TEST(BenchFigures, RatiosAreToTheBareLogAndEcho) {
  const BenchRow row = a_report().rows.front();
  EXPECT_DOUBLE_EQ(row.broker.rate(), 500);
  EXPECT_DOUBLE_EQ(row.log_ratio(), 0.5);
  EXPECT_NEAR(row.time_ratio(), 3.0, 0.05);
  EXPECT_DOUBLE_EQ(row.cpu_us(), 5);
  EXPECT_EQ(BenchRow{}.log_ratio(), 0);
  EXPECT_EQ(BenchRow{}.time_ratio(), 0);
}

TEST(BenchFigures, TheTableHasARowForEachCaseAndSaysWhereItWasMeasured) {
  const std::string text = bench_table(a_report(), false);
  EXPECT_TRUE(text.starts_with("CASE"));
  const size_t row = text.find("publish-1x64");
  ASSERT_NE(row, text.npos) << text;
  for (const char* wanted : {"256", "500", "messages", "1.00 k", "0.50", "5.00"}) {
    EXPECT_LT(text.find(wanted, row), text.find('\n', row)) << wanted << " in\n" << text;
  }
  EXPECT_NE(
      text.find("broker http://127.0.0.1:1; bare log in /d; idle memory of the broker 12.3 MB"),
      text.npos)
      << text;
}

TEST(BenchFigures, AnotherOnesBrokerHasNoProcessorTime) {
  BenchReport report = a_report();
  report.idle_rss_bytes = 0;
  report.rows.front().cpu_ns = 0;
  EXPECT_EQ(bench_table(report, false).find("idle memory"), std::string::npos);
  EXPECT_EQ(bench_json(report).find("cpu_us"), std::string::npos);
  EXPECT_EQ(bench_json(report).find("idle_rss_bytes"), std::string::npos);
}

TEST(BenchFigures, JsonSaysTheSame) {
  lib::JsonDocument document;
  const std::string text = bench_json(a_report());
  const auto json = document.parse(text);
  ASSERT_TRUE(json) << text;
  const lib::Json cases = json->find("cases");
  const lib::Json row = *cases.elements().begin();
  EXPECT_EQ(row.find("case").as_string(), "publish-1x64");
  EXPECT_EQ(row.find("window").as_uint64(), 64u);
  EXPECT_EQ(row.find("rate").as_double(), 500);
  EXPECT_EQ(row.find("log_ratio").as_double(), 0.5);
  EXPECT_NEAR(row.find("p50_us").as_double().value_or(0), 300, 5);
  EXPECT_EQ(row.find("cpu_us").as_double(), 5);
  EXPECT_EQ(json->find("idle_rss_bytes").as_uint64(), 12'345'678u);
}

}  // namespace
}  // namespace parley::app
