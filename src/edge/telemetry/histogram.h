// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "lib/prometheus.h"

namespace parley::edge {

inline double seconds_of(base::Duration duration) { return static_cast<double>(duration.us) / 1e6; }

// For what takes from a part of a millisecond to some seconds.
inline constexpr std::array<double, 14> seconds_bounds = {
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};

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
