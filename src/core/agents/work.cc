// SPDX-License-Identifier: Apache-2.0
#include "core/agents/work.h"

#include <algorithm>

namespace parley::core {

namespace {

constexpr Duration step = base::minutes(5);
constexpr size_t steps_max = 12;

bool is_recent(Time began, Time now) { return began + base::hours(1) > now; }

}  // namespace

Work::Step& Work::step_at(Time now) {
  const Time began{now.us - now.us % step.us};
  if (steps_.empty() || steps_.back().began < began) {
    if (steps_.size() >= steps_max) {
      steps_.erase(steps_.begin());
    }
    steps_.push_back({began, {}});
  }
  return steps_.back();
}

void Work::answered(Time now, const Answered& answer) {
  Sum& sum = step_at(now).sum;
  ++(answer.well ? sum.completed : sum.failed);
  ++sum.answered;
  sum.response_ms += static_cast<uint64_t>(std::max<int64_t>(answer.after.us, 0)) / 1'000;
  if (answer.confidence_ppm >= 0) {
    sum.confidence_ppm += static_cast<uint64_t>(answer.confidence_ppm);
    ++sum.confident;
  }
}

Work::Sum Work::last_hour(Time now) const {
  Sum all;
  for (const Step& each : steps_) {
    if (is_recent(each.began, now)) {
      all.completed += each.sum.completed;
      all.failed += each.sum.failed;
      all.response_ms += each.sum.response_ms;
      all.answered += each.sum.answered;
      all.confidence_ppm += each.sum.confidence_ppm;
      all.confident += each.sum.confident;
    }
  }
  return all;
}

}  // namespace parley::core
