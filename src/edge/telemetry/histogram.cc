// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/histogram.h"

#include <algorithm>
#include <functional>

namespace parley::edge {

void Histogram::add(double value) {
  ++counts_[static_cast<size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
  sum_ += value;
}

void Histogram::add(const Histogram& other) {
  std::ranges::transform(counts_, other.counts_, counts_.begin(), std::plus{});
  sum_ += other.sum_;
}

bool Histogram::empty() const {
  return std::ranges::all_of(counts_, [](uint64_t count) { return count == 0; });
}

}  // namespace parley::edge
