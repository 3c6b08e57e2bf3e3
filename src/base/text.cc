// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <charconv>

namespace parley::base {

namespace {

bool is_invisible(std::string_view character) {
  const auto between = [character](std::string_view first, std::string_view last) {
    return character >= first && character <= last;
  };
  return between("\xe2\x80\x8b", "\xe2\x80\x8f") ||  // zero width, marks of direction
         between("\xe2\x80\xa8", "\xe2\x80\xae") ||  // separators, turns of direction
         between("\xe2\x81\xa0", "\xe2\x81\xa9") || character == "\xef\xbb\xbf" ||
         between("\xc2\x80", "\xc2\xa0");  // control characters, no-break space
}

}  // namespace

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && parsed == end && !text.empty() ? std::optional(value)
                                                                : std::nullopt;
}

bool is_plain_name(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') {
    return false;
  }
  const bool controls =
      std::ranges::any_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; });
  for (size_t at = 0; at < text.size(); ++at) {
    if (is_invisible(text.substr(at, 3)) || is_invisible(text.substr(at, 2))) {
      return false;
    }
  }
  return !controls;
}

}  // namespace parley::base
