// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parley::app {

// What other people wrote, made safe to print: control characters, characters that turn the
// direction of text and bytes that are not UTF-8 are shown as `\x1b` or `\u{202e}`.
std::string printable(std::string_view text);

// The same, and what else cannot be seen is escaped, too: for what people decide on.
std::string visible(std::string_view text);

// The same, but keeps line ends and tabs: for bodies.
std::string printable_lines(std::string_view text);

// JSON made safe to print without changing what it means: such characters become `\u001b` escapes.
std::string printable_json(std::string_view json);

// The word as a shell takes it for one word: in quotes where that is needed.
std::string shell_word(std::string_view word);

// How many columns of a terminal the text takes: 2 for East Asian wide characters and most emoji, 0
// for combining marks. Of printable text.
size_t display_width(std::string_view text);

// The text, cut with an ellipsis where it is wider than `columns`.
std::string shortened(std::string_view text, size_t columns);

enum class Colour : uint8_t { plain, bold, dim, red, yellow, green };

// Whether standard output is a terminal that wants colours: never with NO_COLOR.
bool wants_colours();

std::string coloured(std::string_view text, Colour colour, bool colours);

// Rows under headings, aligned by their display width, with two spaces between columns and none at
// the end of a line.
class Table {
 public:
  struct Cell {
    std::string text;
    Colour colour = Colour::plain;
  };

  explicit Table(std::vector<std::string> headings);

  // Takes as many cells as there are headings. Their texts are made printable here.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  std::string render(bool colours) const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace parley::app
