// SPDX-License-Identifier: Apache-2.0
#include "app/text/answers.h"

#include <cstdio>
#include <utility>

#include "app/client/client.h"

namespace parley::app {

using lib::Json;

std::string filled(std::string_view text,
                   const std::function<std::string(std::string_view)>& value_of) {
  std::string all;
  while (!text.empty()) {
    const size_t open = text.find('{');
    const size_t close = text.find('}', open);
    all += text.substr(0, open);
    if (close == text.npos) {
      break;
    }
    all += value_of(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
  return all;
}

Show says(std::string line) {
  return [line = std::move(line)](Json answer, const Given& given) {
    const std::string text = filled(line, [&](std::string_view name) {
      const auto argument = given.find(name);
      return printable(argument != given.end() ? argument->second : text_of(answer, name));
    });
    std::printf("%s\n", text.c_str());
    return 0;
  };
}

std::function<Table::Cell(Json)> member(std::string key, Colour colour) {
  return [key = std::move(key), colour](Json element) {
    return Table::Cell{text_of(element, key), colour};
  };
}

std::function<Table::Cell(Json)> member(std::string key, size_t columns_max) {
  return [key = std::move(key), columns_max](Json element) {
    return Table::Cell{shortened(printable(text_of(element, key)), columns_max)};
  };
}

void print_table(Json elements, const std::string& none, const std::vector<Column>& columns) {
  std::vector<std::string> headings;
  for (const Column& column : columns) {
    headings.push_back(column.heading);
  }
  Table table(std::move(headings));
  for (const Json element : elements.elements()) {
    std::vector<Table::Cell> row;
    for (const Column& column : columns) {
      row.push_back(column.cell(element));
    }
    table.add(std::move(row));
  }
  const bool is_said = table.empty() && !none.empty();
  std::printf("%s", is_said ? (none + "\n").c_str() : table.render(wants_colours()).c_str());
}

Show lists(std::string key, std::string none, std::vector<Column> columns) {
  return [=](Json answer, const Given&) {
    print_table(answer.find(key), none, columns);
    return 0;
  };
}

std::string joined(Json names) {
  std::string text;
  for (const Json name : names.elements()) {
    text += (text.empty() ? "" : ", ") + std::string(name.as_string().value_or(name.raw()));
  }
  return text;
}

}  // namespace parley::app
