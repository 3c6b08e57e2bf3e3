// SPDX-License-Identifier: Apache-2.0
#include "dialect/iso8601.h"

#include <array>
#include <cstdint>
#include <span>

namespace parley::dialect {

namespace {

constexpr size_t fraction_digits_max = 9;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number made of the `count` digits at `at`; -1 when they are not digits.
int number(std::string_view text, size_t at, size_t count) {
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (!is_digit(c)) {
      return -1;
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

// Takes `.digits` off the front: 1 to 9 of them. Leaves microseconds in `us`; false when there is a
// point and no such digits.
bool take_fraction(std::string_view& text, int64_t& us) {
  us = 0;
  if (!text.starts_with('.')) {
    return true;
  }
  size_t digits = 0;
  int64_t unit = 100'000;
  while (digits + 1 < text.size() && is_digit(text[digits + 1])) {
    us += unit * (text[digits + 1] - '0');
    unit /= 10;
    ++digits;
  }
  text.remove_prefix(digits + 1);
  return digits >= 1 && digits <= fraction_digits_max;
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in(int year, int month) {
  constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : days[static_cast<size_t>(month - 1)];
}

// Days from 1970-01-01. Years are counted from March, so that the leap day ends them.
int64_t days_since_epoch(int year, int month, int day) {
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t of_era = y - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

struct Unit {
  char letter;
  int64_t us;
};

// One part of a duration: digits and a letter out of `units`, which shrinks to those after it.
bool take_part(std::string_view& text, std::span<const Unit>& units, int64_t& total) {
  size_t digits = 0;
  int64_t count = 0;
  while (digits < text.size() && is_digit(text[digits])) {
    if (__builtin_mul_overflow(count, 10, &count) ||
        __builtin_add_overflow(count, text[digits] - '0', &count)) {
      return false;
    }
    ++digits;
  }
  text.remove_prefix(digits);
  const bool has_fraction = text.starts_with('.');
  int64_t fraction_us = 0;
  if (digits == 0 || !take_fraction(text, fraction_us) || text.empty()) {
    return false;
  }
  while (!units.empty() && units.front().letter != text.front()) {
    units = units.subspan(1);
  }
  if (units.empty() || (has_fraction && text.front() != 'S')) {
    return false;
  }
  int64_t us = 0;
  if (__builtin_mul_overflow(count, units.front().us, &us) ||
      __builtin_add_overflow(us, fraction_us, &us) || __builtin_add_overflow(total, us, &total)) {
    return false;
  }
  units = units.subspan(1);
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<base::Time> parse_time(std::string_view text) {
  constexpr size_t seconds_end = 19;
  if (text.size() <= seconds_end || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
      text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const int year = number(text, 0, 4);
  const int month = number(text, 5, 2);
  const int day = number(text, 8, 2);
  const int hour = number(text, 11, 2);
  const int minute = number(text, 14, 2);
  const int second = number(text, 17, 2);
  const bool exists = year >= 0 && month >= 1 && month <= 12 && day >= 1 &&
                      day <= days_in(year, month) && hour >= 0 && hour <= 23 && minute >= 0 &&
                      minute <= 59 && second >= 0 && second <= 59;
  std::string_view rest = text.substr(seconds_end);
  int64_t us = 0;
  if (!exists || !take_fraction(rest, us) || (rest != "Z" && rest != "+00:00")) {
    return std::nullopt;
  }
  const int64_t of_day = (int64_t{hour} * 60 + minute) * 60 + second;
  return base::Time{(days_since_epoch(year, month, day) * 86'400 + of_day) * 1'000'000 + us};
}

std::optional<base::Duration> parse_iso_duration(std::string_view text) {
  constexpr int64_t second = 1'000'000;
  constexpr int64_t hour = 3600 * second;
  constexpr std::array<Unit, 2> date_units = {{{'W', 7 * 24 * hour}, {'D', 24 * hour}}};
  constexpr std::array<Unit, 3> time_units = {{{'H', hour}, {'M', 60 * second}, {'S', second}}};
  if (!text.starts_with('P') || text.size() < 3) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  int64_t total = 0;
  std::span<const Unit> units = date_units;
  while (!text.empty() && text.front() != 'T') {
    if (!take_part(text, units, total)) {
      return std::nullopt;
    }
  }
  if (text.empty()) {
    return base::Duration{total};
  }
  text.remove_prefix(1);
  units = time_units;
  do {
    if (!take_part(text, units, total)) {
      return std::nullopt;
    }
  } while (!text.empty());
  return base::Duration{total};
}

}  // namespace parley::dialect
