// SPDX-License-Identifier: Apache-2.0
#include "dialect/reading.h"

#include <algorithm>

#include "base/text.h"
#include "dialect/iso8601.h"

namespace parley::dialect {

namespace {

using lib::JsonKind;

constexpr size_t quoted_bytes_max = 60;

}  // namespace

std::string describe(lib::Json value) {
  switch (value.kind()) {
    case JsonKind::object:
      return "an object";
    case JsonKind::array:
      return "an array";
    case JsonKind::none:
    case JsonKind::null:
    case JsonKind::boolean:
    case JsonKind::number:
    case JsonKind::string:
      break;
  }
  std::string_view raw = value.raw();
  if (raw.size() <= quoted_bytes_max) {
    return std::string(raw);
  }
  size_t end = quoted_bytes_max;
  while ((static_cast<uint8_t>(raw[end]) & 0xc0) == 0x80) {
    --end;
  }
  return std::string(raw.substr(0, end)).append("... (").append(std::to_string(raw.size())) +
         " bytes)";
}

std::string pointer_step(std::string_view key) {
  std::string step = "/";
  for (const char c : key) {
    c == '~' ? step.append("~0") : c == '/' ? step.append("~1") : step.append(1, c);
  }
  return step;
}

// Only `~` and `/` are escaped twice, and neither is by JSON.
std::string quoted_key(std::string_view step) {
  std::string key = "\"";
  for (size_t at = 1; at < step.size(); ++at) {
    if (step[at] != '~') {
      key += step[at];
    } else {
      key += step.substr(at).starts_with("~1") ? '/' : '~';
      ++at;
    }
  }
  return key;
}

bool is_version_4(const base::Id128& id) { return id.bytes[6] >> 4 == 4 && id.bytes[8] >> 6 == 2; }

bool has_upper_case(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'F'; });
}

std::optional<base::Duration> parse_any_duration(std::string_view text) {
  return text.starts_with('P') ? parse_iso_duration(text) : base::parse_duration(text);
}

int32_t parts_per_million(std::string_view digits, bool up) {
  constexpr int64_t places = 6;
  constexpr int64_t far = 1'000'000;  // an exponent beyond it says no more
  constexpr int32_t all = 1'000'000;
  const size_t mark = std::min(digits.find_first_of("eE"), digits.size());
  int64_t shift = places;  // how many digits behind the point belong to the whole ones
  if (mark < digits.size()) {
    const bool is_less = digits[mark + 1] == '-';
    const std::string_view power =
        digits.substr(mark + (is_less || digits[mark + 1] == '+' ? 2 : 1));
    const auto value = static_cast<int64_t>(
        std::min<uint64_t>(base::parse_number(power).value_or(far), static_cast<uint64_t>(far)));
    shift += is_less ? -value : value;
  }
  const std::string_view number = digits.substr(0, mark);
  const size_t point = std::min(number.find('.'), number.size());
  int64_t left = static_cast<int64_t>(point) + shift;  // digits, the sign and the point not counted
  int64_t ppm = 0;
  bool has_more = false;
  for (const char c : number) {
    if (c == '.') {
      continue;
    }
    const int digit = c == '-' ? 0 : c - '0';
    if (left > 0) {
      ppm = std::min<int64_t>(ppm * 10 + digit, all + 1);
    } else {
      has_more = has_more || digit != 0;
    }
    --left;
  }
  for (; left > 0 && ppm != 0 && ppm <= all; --left) {
    ppm *= 10;
  }
  return static_cast<int32_t>(std::min<int64_t>(ppm + (has_more && up ? 1 : 0), all));
}

bool is_canonical_time(std::string_view text) {
  constexpr size_t size = 24;  // milliseconds and Z
  return text.size() == size && text.ends_with('Z');
}

}  // namespace parley::dialect
