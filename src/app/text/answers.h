// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/text/terminal.h"
#include "lib/json.h"

namespace parley::app {

// How an answer of the broker is printed for people.

// What the user gave, by the name of the argument; empty where that is nothing.
using Given = std::map<std::string, std::string, std::less<>>;

// The text with every `{NAME}` replaced by what `value_of` returns for NAME.
std::string filled(std::string_view text,
                   const std::function<std::string(std::string_view)>& value_of);

// Prints an answer and returns the exit code.
using Show = std::function<int(lib::Json answer, const Given& given)>;

// Prints one line, in which `{ID}` stands for an argument of that name, else for a member of the
// answer.
Show says(std::string line);

// A column of a table of JSON objects: what `cell` makes of each.
struct Column {
  std::string heading;
  std::function<Table::Cell(lib::Json)> cell;
};
// A cell with the member `key`, as text_of has it; the second one cuts it to so many columns.
std::function<Table::Cell(lib::Json)> member(std::string key, Colour colour = Colour::plain);
std::function<Table::Cell(lib::Json)> member(std::string key, size_t columns_max);

// Prints a table with a row for each element, or the line `none` where there are no elements; the
// headings alone where there is no such line.
void print_table(lib::Json elements, const std::string& none, const std::vector<Column>& columns);
// Prints so the elements of the answer's member `key`.
Show lists(std::string key, std::string none, std::vector<Column> columns);

// The names in an array, with commas between them.
std::string joined(lib::Json names);

}  // namespace parley::app
