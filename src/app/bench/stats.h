// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parley::app {

// How long things took. Counts in buckets that are under 1.6 % wide, so that any number of them
// takes the same memory.
class Latencies {
 public:
  // What is below zero or beyond `ns_max` counts as that.
  void add(int64_t ns, uint64_t count = 1);
  uint64_t count() const { return count_; }

  // The value that this share of them does not exceed, give or take the width of a bucket; 0 when
  // there are none.
  double quantile_us(double share) const;

  static constexpr int64_t ns_max = (int64_t{1} << 40) - 1;  // 18 minutes

 private:
  static constexpr int fine_bits = 6;
  static constexpr size_t bucket_count = (40 - fine_bits + 1) << fine_bits;

  std::array<uint64_t, bucket_count> counts_{};
  uint64_t count_ = 0;
};

// What was measured of one thing: how many came to their end, in how long, and how long each took.
struct Measured {
  Latencies latencies;
  uint64_t count = 0;
  double seconds = 0;

  double rate() const { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }
};

// One line of the result: a load of the broker beside the bare log and the bare echo, measured in
// turn with it.
struct BenchRow {
  std::string name;  // `publish-8x64`
  std::string unit;  // what is counted: messages, round trips, deliveries
  uint32_t senders = 1;
  uint32_t receivers = 0;
  uint32_t window = 1;
  uint32_t bytes = 0;  // of a body, and of a record of the bare log
  Measured broker;
  Measured log;  // with batches of `log_batch` records
  Measured echo;
  uint32_t log_batch = 1;
  int64_t cpu_ns = 0;  // of a private broker, for all of it; 0: unknown

  // Processor time of the broker for one of what is counted: moves less than the rate when the
  // machine has other work.
  double cpu_us() const;
  // The rate beside that of the bare log.
  double log_ratio() const;
  // The median beside what a durable answer costs at least: one write and sync of the bare log, and
  // one bare echo.
  double time_ratio() const;
};

// What the whole run says beside its rows.
struct BenchReport {
  std::string url;
  std::string directory;       // where the bare log was
  int64_t idle_rss_bytes = 0;  // of a private broker before any load; 0: unknown
  std::vector<BenchRow> rows;
};

std::string bench_table(const BenchReport& report, bool colours);
std::string bench_json(const BenchReport& report);

// 1234567 as `1.23 M`, 12345 as `12.3 k`, 12.34 as `12.3`.
std::string short_number(double value);

}  // namespace parley::app
