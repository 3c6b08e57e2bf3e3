// SPDX-License-Identifier: Apache-2.0
#include "base/clock/paced_clock.h"

#include <algorithm>

namespace parley::base {

namespace {

constexpr int64_t slow_part = 10;  // of what passes, one part is given back

}  // namespace

PacedClock::PacedClock(Clock& wall, Clock& steady)
    : wall_(wall), steady_(steady), time_(wall.now()), steady_at_(steady.now()) {}

void PacedClock::not_before(Time time) { time_ = std::max(time_, time); }

Time PacedClock::now() {
  const Time steady = steady_.now();
  const Time wall = wall_.now();
  const Duration passed = std::max(Duration{}, steady - steady_at_);
  steady_at_ = steady;
  follow(wall, steady, passed);
  ahead_ = time_ - wall;
  return time_;
}

void PacedClock::follow(Time wall, Time steady, Duration passed) {
  const Duration behind = wall - (time_ + passed);
  if (behind.us < 0) {
    doubted_since_.reset();
    // Readings come closer together than a tenth of a microsecond could be counted.
    slow_us_ += passed.us;
    const int64_t back_us = std::min(-behind.us, slow_us_ / slow_part);
    slow_us_ %= slow_part;  // what was not wanted is not kept for another time
    time_ = time_ + Duration{passed.us - back_us};
    return;
  }
  slow_us_ = 0;
  if (behind <= step_max) {
    doubted_since_.reset();
    time_ = wall;
    return;
  }
  const bool is_new = !doubted_since_;
  doubted_since_ = doubted_since_.value_or(steady);
  const bool believed = steady - *doubted_since_ >= doubt;
  if (believed) {
    doubted_since_.reset();
    ++jumps_;
  }
  time_ = believed ? wall : time_ + passed;
  if (on_jump && (is_new || believed)) {
    on_jump(behind, believed);
  }
}

}  // namespace parley::base
