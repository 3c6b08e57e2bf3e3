// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace parley::base {

// A span of time in microseconds. Arithmetic saturates, so that no input can overflow it.
struct Duration {
  int64_t us = 0;

  auto operator<=>(const Duration&) const = default;
};

constexpr int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) {
    return sum;
  }
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

constexpr uint64_t saturating_sum(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

constexpr int64_t saturating_subtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) {
    return difference;
  }
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

constexpr int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) {
    return product;
  }
  return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max()
                            : std::numeric_limits<int64_t>::min();
}

constexpr Duration microseconds(int64_t n) { return Duration{n}; }
constexpr Duration milliseconds(int64_t n) { return Duration{saturating_multiply(n, 1'000)}; }
constexpr Duration seconds(int64_t n) { return Duration{saturating_multiply(n, 1'000'000)}; }
constexpr Duration minutes(int64_t n) { return Duration{saturating_multiply(n, 60'000'000)}; }
constexpr Duration hours(int64_t n) { return Duration{saturating_multiply(n, 3'600'000'000)}; }

// A moment in UTC: microseconds since 1970. Only a journal or a Clock makes new ones.
struct Time {
  int64_t us = 0;

  auto operator<=>(const Time&) const = default;
};

constexpr Time time_max{std::numeric_limits<int64_t>::max()};

constexpr Time operator+(Time t, Duration d) { return Time{saturating_add(t.us, d.us)}; }
constexpr Duration operator-(Time a, Time b) { return Duration{saturating_subtract(a.us, b.us)}; }

// The first whole multiple of `unit` after `t`. What need not be exact is due at one, so that many
// share a tick and an idle broker writes few.
constexpr Time next_multiple(Time t, Duration unit) {
  return t.us > time_max.us - unit.us ? time_max : Time{(t.us / unit.us + 1) * unit.us};
}

// `2026-11-15T21:06:53.042Z`: ISO-8601 in UTC with milliseconds.
std::string format_time(Time t);

// `500ms`, `30s`, `5m`, `72h`: the largest unit that divides it.
std::string format_duration(Duration d);

// For people: in milliseconds, from ten seconds on in seconds; never less than it is.
Duration rough(Duration d);

// Reads what format_duration writes (an integer and one of us, ms, s, m, h); nothing else.
std::optional<Duration> parse_duration(std::string_view text);

// Where real time comes from. The second implementation is the simulator's.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() = 0;
};

class SystemClock final : public Clock {
 public:
  Time now() override;
};

// Stands still until it is moved; for tests and the simulator.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start) : now_(start) {}
  Time now() override { return now_; }
  void advance(Duration d) { now_ = now_ + d; }

 private:
  Time now_;
};

}  // namespace parley::base
