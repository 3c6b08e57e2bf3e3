// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace parley::base {

// A letter of ASCII in lower case; any other character as it is.
constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// A whole number in decimal digits; none for anything else, or for one that has no room in 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);

// The first `bytes_max` bytes of UTF-8 text, or a few less: a character is not cut in two.
inline std::string_view cut(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) {
    return text;
  }
  size_t end = bytes_max;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

// The text; where it has more bytes than that, its beginning and `…`, by which a reader sees that
// it was cut. Of fewer than the three bytes of that mark nothing is left.
inline std::string shortened(std::string_view text, size_t bytes_max) {
  constexpr std::string_view mark = "…";
  if (text.size() <= bytes_max) {
    return std::string(text);
  }
  return bytes_max < mark.size() ? std::string()
                                 : std::string(cut(text, bytes_max - mark.size())).append(mark);
}

// Two lower-case hexadecimal digits for each byte.
std::string hex(std::span<const uint8_t> bytes);

// Whether the character shows nothing, turns the direction of writing, or is a control character or
// a space other than the usual one.
bool is_invisible(char32_t character);

// Whether people can tell the name from others when they see it: UTF-8 without control characters,
// no space at either end nor one of the unusual ones, nothing invisible, nothing that turns the
// direction of writing, and no mark in front that is drawn over what stands before the name.
bool is_plain_name(std::string_view text);

}  // namespace parley::base
