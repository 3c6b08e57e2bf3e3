// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace parley::lib {

// A wall around prometheus-cpp: a registry that is told totals, and writes them down in the text
// format. What counts on a hot path counts by itself and tells this when someone asks. A name
// belongs to one kind of metric and to one help. Not thread-safe.
class MetricRegistry {
 public:
  using Labels = std::map<std::string, std::string>;

  // How many values were up to each bound, in one bucket more for those beyond; not cumulative.
  struct Buckets {
    std::span<const double> bounds;
    std::span<const uint64_t> counts;
    double sum = 0;
  };

  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  // Totals never go back; one that does stays where it was.
  void counter(const std::string& name, const std::string& help, double total,
               const Labels& labels = {});
  void gauge(const std::string& name, const std::string& help, double value,
             const Labels& labels = {});
  // With the same bounds each time.
  void histogram(const std::string& name, const std::string& help, const Buckets& buckets,
                 const Labels& labels = {});

  // Families by name, and their samples by labels.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace parley::lib
