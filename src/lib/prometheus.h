// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parley::lib {

// A registry of metrics that is given totals, and writes them in Prometheus' text exposition
// format (version 0.0.4). Code on a hot path keeps its own counters, and copies them into the
// registry when someone asks for the metrics. A name belongs to one kind of metric and to one help
// text. Not thread-safe.
class MetricRegistry {
 public:
  using Labels = std::map<std::string, std::string>;

  // The number of values up to each bound, and in one more bucket of those beyond the last bound.
  // The counts are not cumulative.
  struct Buckets {
    std::span<const double> bounds;
    std::span<const uint64_t> counts;
    double sum = 0;
  };

  // A total never decreases: a smaller one than before is ignored.
  void counter(const std::string& name, const std::string& help, double total,
               const Labels& labels = {});
  void gauge(const std::string& name, const std::string& help, double value,
             const Labels& labels = {});
  // The bounds of a metric are the same each time, and its counts never decrease.
  void histogram(const std::string& name, const std::string& help, const Buckets& buckets,
                 const Labels& labels = {});

  // All families in the order of their names, their samples in the order of the labels.
  std::string text() const;

 private:
  enum class Kind : uint8_t { counter, gauge, histogram };
  struct Sample {
    double value = 0;  // of a histogram: the sum
    std::vector<double> bounds{};
    std::vector<uint64_t> counts{};
  };
  struct Family {
    Kind kind;
    std::string help;
    std::map<Labels, Sample> samples{};
  };

  Sample& sample(Kind kind, const std::string& name, const std::string& help, const Labels& labels);
  static void append_histogram(std::string& out, std::string_view name, const Labels& labels,
                               const Sample& sample);

  std::map<std::string, Family> families_;
};

}  // namespace parley::lib
