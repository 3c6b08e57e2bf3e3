// SPDX-License-Identifier: Apache-2.0
// Ids as the protocol's text has them: MSG-{YYYYMMDD}-{HHMMSS}-{short}. They name files, too.
#include <algorithm>

#include "dialect/squad/fields.h"
#include "dialect/squad/squad.h"

namespace parley::dialect {

namespace {

constexpr std::string_view prefix = "MSG-";
constexpr size_t date_at = 4;
constexpr size_t time_at = 13;
constexpr size_t short_at = 20;
constexpr size_t short_bytes_max = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether the two digits say a number in this range.
bool is_between(std::string_view digits, int min, int max) {
  const int number = (digits[0] - '0') * 10 + (digits[1] - '0');
  return number >= min && number <= max;
}

bool is_short(std::string_view text) {
  return !text.empty() && text.size() <= short_bytes_max && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
         });
}

}  // namespace

bool squad::is_squad_id(std::string_view id) {
  if (id.size() <= short_at || !id.starts_with(prefix) || id[time_at - 1] != '-' ||
      id[short_at - 1] != '-' || !is_short(id.substr(short_at))) {
    return false;
  }
  const std::string_view date = id.substr(date_at, 8);
  const std::string_view time = id.substr(time_at, 6);
  return std::ranges::all_of(date, is_digit) && std::ranges::all_of(time, is_digit) &&
         is_between(date.substr(4), 1, 12) && is_between(date.substr(6), 1, 31) &&
         is_between(time, 0, 23) && is_between(time.substr(2), 0, 59) &&
         is_between(time.substr(4), 0, 59);
}

std::string squad_id(const Envelope& e) {
  if (squad::is_squad_id(e.native_id)) {
    return std::string(e.native_id);
  }
  constexpr size_t seconds = 14;  // that the digits of a date and a time are
  std::string digits;
  for (const char c : base::format_time(e.created)) {
    if (is_digit(c) && digits.size() < seconds) {
      digits += c;
    }
  }
  return std::string(prefix) + digits.substr(0, 8) + "-" + digits.substr(8) + "-" +
         base::format_uuid(e.id);
}

std::optional<base::MessageId> squad_uuid(std::string_view id) {
  return squad::is_squad_id(id) ? uuid_of(id.substr(short_at)) : std::nullopt;
}

}  // namespace parley::dialect
