// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/unicode/utf8.h"

namespace parley::base {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Characters that show nothing, turn the direction of writing, or are a space other than the usual
// one. By Unicode: default ignorable ones, controls, separators, and what is drawn as a blank.
constexpr auto invisible = std::to_array<Range>({
    {0x0000, 0x001f},   {0x007f, 0x00a0},   {0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c},
    {0x115f, 0x1160},   {0x1680, 0x1680},   {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
});

// Marks that are drawn over the character before them.
constexpr auto combining = std::to_array<Range>({
    {0x0300, 0x036f},
    {0x0483, 0x0489},
    {0x0591, 0x05bd},
    {0x0610, 0x061a},
    {0x064b, 0x065f},
    {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff},
    {0xfe20, 0xfe2f},
});

bool is_in(std::span<const Range> ranges, char32_t character) {
  return std::ranges::any_of(ranges, [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

}  // namespace

std::string hex(std::span<const uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && parsed == end && !text.empty() ? std::optional(value)
                                                                : std::nullopt;
}

bool is_invisible(char32_t character) { return is_in(invisible, character); }

bool is_plain_name(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') {
    return false;
  }
  for (bool is_first = true; !text.empty(); is_first = false) {
    const char32_t character = take_character(text);
    if (character == not_utf8 || is_invisible(character) ||
        (is_first && is_in(combining, character))) {
      return false;
    }
  }
  return true;
}

}  // namespace parley::base
