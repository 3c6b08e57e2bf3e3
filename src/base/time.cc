// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace parley::base {

namespace {

struct Unit {
  std::string_view name;
  int64_t us;
};

// Largest first: format_duration takes the first that divides.
constexpr std::array<Unit, 5> units = {
    {{"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}, {"us", 1}}};

struct Date {
  int64_t year;
  int month;
  int day;
};

// Days since 1970-01-01 to a proleptic Gregorian date; eras of 400 years that start in March, so
// that the leap day is the last of a year. No libc call: those take locks and read the time zone.
Date date_of(int64_t days) {
  constexpr int64_t days_per_era = 146'097;
  const int64_t shifted = days + 719'468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - days_per_era + 1) / days_per_era;
  const int64_t of_era = shifted - era * days_per_era;
  const int64_t year_of_era =
      (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
  const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t march_month = (5 * of_year + 2) / 153;
  const int day = static_cast<int>(of_year - (153 * march_month + 2) / 5 + 1);
  const int month = static_cast<int>(march_month < 10 ? march_month + 3 : march_month - 9);
  return Date{year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

void put_digits(std::string& text, size_t at, size_t count, int64_t value) {
  for (size_t n = count; n > 0; --n) {
    text[at + n - 1] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

// A year that four digits do not hold.
std::string format_far_date(const Date& date, int64_t ms) {
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ",
                                 static_cast<long long>(date.year), date.month, date.day,
                                 static_cast<int>(ms / 3'600'000),
                                 static_cast<int>(ms / 60'000 % 60),
                                 static_cast<int>(ms / 1'000 % 60), static_cast<int>(ms % 1'000));
  return std::string(text.data(), static_cast<size_t>(size));
}

}  // namespace

std::string format_time(Time t) {
  constexpr int64_t us_per_day = 86'400'000'000;
  int64_t days = t.us / us_per_day;
  int64_t rest = t.us % us_per_day;
  if (rest < 0) {
    rest += us_per_day;
    days -= 1;
  }
  const Date date = date_of(days);
  const int64_t ms = rest / 1'000;
  if (date.year < 0 || date.year > 9'999) {
    return format_far_date(date, ms);
  }
  // By hand, for this is written into every message: snprintf takes ten times as long.
  std::string text = "0000-00-00T00:00:00.000Z";
  put_digits(text, 0, 4, date.year);
  put_digits(text, 5, 2, date.month);
  put_digits(text, 8, 2, date.day);
  put_digits(text, 11, 2, ms / 3'600'000);
  put_digits(text, 14, 2, ms / 60'000 % 60);
  put_digits(text, 17, 2, ms / 1'000 % 60);
  put_digits(text, 20, 3, ms % 1'000);
  return text;
}

Duration rough(Duration d) {
  constexpr int64_t second = 1'000'000;
  const int64_t unit = d.us < 10 * second ? second / 1'000 : second;
  const int64_t over = d.us % unit;
  return over <= 0 ? d : Duration{saturating_add(d.us, unit - over)};
}

std::string format_duration(Duration d) {
  if (d.us == 0) {
    return "0s";
  }
  for (const Unit& unit : units) {
    if (d.us % unit.us == 0) {
      return std::to_string(d.us / unit.us).append(unit.name);
    }
  }
  return {};  // not reached: every count of microseconds is divisible by one
}

std::optional<Duration> parse_duration(std::string_view text) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count < 0) {
    return std::nullopt;
  }
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  for (const Unit& unit : units) {
    int64_t us = 0;
    if (suffix == unit.name && !__builtin_mul_overflow(count, unit.us, &us)) {
      return Duration{us};
    }
  }
  return std::nullopt;
}

}  // namespace parley::base
