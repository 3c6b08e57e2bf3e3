// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/prometheus.h"

namespace parley::edge {

// Counts values by the first bound that they do not exceed; one more bucket has those beyond the
// last bound. The bounds outlive it.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void add(double value);
  // Adds the counts of one with the same bounds.
  void add(const Histogram& other);
  bool empty() const;
  lib::MetricRegistry::Buckets buckets() const { return {bounds_, counts_, sum_}; }
  // The same in another unit: values are divided by `scale`, and `bounds` are the bounds in it.
  lib::MetricRegistry::Buckets buckets(std::span<const double> bounds, double scale) const {
    return {bounds, counts_, sum_ / scale};
  }

 private:
  std::span<const double> bounds_;
  std::vector<uint64_t> counts_;  // by bound, not cumulative
  double sum_ = 0;
};

}  // namespace parley::edge
