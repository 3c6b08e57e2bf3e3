// SPDX-License-Identifier: Apache-2.0
#include "app/text/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "base/text.h"
#include "lib/json_fault.h"

namespace parley::app {

namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Directions and invisible joints that make a text look like another, and line separators.
constexpr std::array<Range, 10> hidden = {{{0x00, 0x1f},
                                           {0x7f, 0x9f},
                                           {0xad, 0xad},
                                           {0x61c, 0x61c},
                                           {0x200b, 0x200b},
                                           {0x200e, 0x200f},
                                           {0x2028, 0x202e},
                                           {0x2060, 0x206f},
                                           {0xfeff, 0xfeff},
                                           {0xe0000, 0xe007f}}};

// The blocks that matter, not the whole of Unicode's tables: a column that is off by one in a rare
// script is worth less than a dependency.
constexpr std::array<Range, 8> combining = {{{0x300, 0x36f},
                                             {0x483, 0x489},
                                             {0x591, 0x5bd},
                                             {0x1ab0, 0x1aff},
                                             {0x200c, 0x200d},
                                             {0x20d0, 0x20ff},
                                             {0xfe00, 0xfe0f},
                                             {0xfe20, 0xfe2f}}};
constexpr std::array<Range, 13> wide = {{{0x1100, 0x115f},
                                         {0x231a, 0x231b},
                                         {0x23e9, 0x23ec},
                                         {0x2e80, 0x303e},
                                         {0x3041, 0xa4cf},
                                         {0xa960, 0xa97c},
                                         {0xac00, 0xd7a3},
                                         {0xf900, 0xfaff},
                                         {0xfe30, 0xfe6f},
                                         {0xff00, 0xff60},
                                         {0xffe0, 0xffe6},
                                         {0x1f300, 0x1faff},
                                         {0x20000, 0x3fffd}}};

template <size_t n>
bool is_in(const std::array<Range, n>& ranges, uint32_t point) {
  return std::ranges::any_of(
      ranges, [point](const Range& range) { return point >= range.first && point <= range.last; });
}

// The character at the start of valid UTF-8 of this length.
uint32_t code_point(std::string_view bytes) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  if (bytes.size() == 1) {
    return first;
  }
  uint32_t point = first & (0xffu >> (bytes.size() + 1));
  for (const char c : bytes.substr(1)) {
    point = point << 6 | (static_cast<uint8_t>(c) & 0x3fu);
  }
  return point;
}

std::string formatted(const char* format, uint32_t value) {
  std::array<char, 16> text{};
  const int size = std::snprintf(text.data(), text.size(), format, value);
  return std::string(text.data(), static_cast<size_t>(size));
}

// Copies the text; calls `hide` with the code point of what must not be printed raw, or with the
// byte (and `is_byte`) where there is no UTF-8.
template <typename Hide>
std::string cleaned(std::string_view text, bool keeps_lines, Hide hide, bool is_strict = false) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = lib::utf8_length(text);
    if (length == 0) {
      out += hide(static_cast<uint8_t>(text[0]), true);
      text.remove_prefix(1);
      continue;
    }
    const std::string_view character = text.substr(0, length);
    const uint32_t point = code_point(character);
    const bool keeps = keeps_lines && (point == '\n' || point == '\t');
    if (!keeps && (is_in(hidden, point) || (is_strict && base::is_invisible(point)))) {
      out += hide(point, false);
    } else {
      out += character;
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string escape(uint32_t point, bool is_byte) {
  return is_byte || point < 0x80 ? formatted("\\x%02x", point) : formatted("\\u{%x}", point);
}

std::string escape_json(uint32_t point, bool is_byte) {
  if (is_byte) {
    return "\\ufffd";
  }
  if (point < 0x10000) {
    return formatted("\\u%04x", point);
  }
  const uint32_t rest = point - 0x10000;
  return formatted("\\u%04x", 0xd800 + (rest >> 10)) +
         formatted("\\u%04x", 0xdc00 + (rest & 0x3ff));
}

size_t width_of(uint32_t point) {
  if (is_in(combining, point)) {
    return 0;
  }
  return is_in(wide, point) ? 2 : 1;
}

// Calls `visit` with each character and its width until it returns false.
template <typename Visit>
void each_character(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t length = std::max<size_t>(lib::utf8_length(text), 1);
    const std::string_view character = text.substr(0, length);
    if (!visit(character, width_of(code_point(character)))) {
      return;
    }
    text.remove_prefix(length);
  }
}

std::string padded(const std::string& text, size_t columns) {
  const size_t width = display_width(text);
  return text + std::string(columns > width ? columns - width : 0, ' ');
}

}  // namespace

std::string printable(std::string_view text) { return cleaned(text, false, escape); }

std::string visible(std::string_view text) { return cleaned(text, false, escape, true); }

std::string printable_lines(std::string_view text) { return cleaned(text, true, escape); }

std::string printable_json(std::string_view json) { return cleaned(json, true, escape_json); }

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
    return std::string(word);
  }
  std::string out = "'";
  for (const char c : word) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

size_t display_width(std::string_view text) {
  size_t columns = 0;
  each_character(text, [&](std::string_view, size_t width) {
    columns += width;
    return true;
  });
  return columns;
}

std::string shortened(std::string_view text, size_t columns) {
  if (display_width(text) <= columns) {
    return std::string(text);
  }
  std::string out;
  size_t used = 1;  // the ellipsis
  each_character(text, [&](std::string_view character, size_t width) {
    used += width;
    if (used > columns) {
      return false;
    }
    out += character;
    return true;
  });
  return out + "…";
}

bool wants_colours() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

std::string coloured(std::string_view text, Colour colour, bool colours) {
  constexpr std::array<std::string_view, 6> codes = {"", "1", "2", "31", "33", "32"};
  if (!colours || colour == Colour::plain) {
    return std::string(text);
  }
  std::string out = "\x1b[";
  return out.append(codes[static_cast<size_t>(colour)]).append("m").append(text).append("\x1b[0m");
}

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

void Table::add(std::vector<Cell> row) {
  CHECK(row.size() == headings_.size());
  for (Cell& cell : row) {
    cell.text = cell.text.empty() ? "-" : printable(cell.text);
  }
  rows_.push_back(std::move(row));
}

std::string Table::render(bool colours) const {
  std::vector<size_t> columns;
  for (size_t i = 0; i < headings_.size(); ++i) {
    size_t width = display_width(headings_[i]);
    for (const auto& row : rows_) {
      width = std::max(width, display_width(row[i].text));
    }
    columns.push_back(i + 1 == headings_.size() ? 0 : width);
  }
  std::string out;
  const auto line = [&](const std::vector<Cell>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      out +=
          (i == 0 ? "" : "  ") + coloured(padded(row[i].text, columns[i]), row[i].colour, colours);
    }
    out += "\n";
  };
  std::vector<Cell> top;
  for (const std::string& heading : headings_) {
    top.push_back({heading, Colour::bold});
  }
  line(top);
  std::ranges::for_each(rows_, line);
  return out;
}

}  // namespace parley::app
