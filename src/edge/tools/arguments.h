// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"

namespace parley::edge::tools {

// Reads the arguments of a call one by one. A model reads what was wrong and calls again, so the
// first mistake is kept in words for a model: which argument, and what it should be.
class Arguments {
 public:
  explicit Arguments(lib::Json object) : object_(object) {}

  // Text that must be there.
  std::string text(std::string_view name);
  // Empty where it is not there.
  std::string optional_text(std::string_view name);
  // One of the words; the first of them where it is not there.
  std::string word(std::string_view name, std::span<const std::string_view> words);
  std::string word(std::string_view name, std::initializer_list<std::string_view> words) {
    return word(name, std::span(words.begin(), words.size()));
  }
  // The row of a table that has the word; the first row where it is not there, or is wrong.
  template <class Table, class Row>
  const Row& row(std::string_view name, const Table& table, std::string_view Row::* member) {
    std::vector<std::string_view> words;
    std::ranges::transform(table, std::back_inserter(words), member);
    const auto found = std::ranges::find(table, word(name, words), member);
    return found == table.end() ? *table.begin() : *found;
  }
  uint64_t number(std::string_view name, uint64_t fallback, uint64_t min, uint64_t max);
  std::vector<std::string> texts(std::string_view name);
  // Text as it is, anything else as JSON text. It must be there.
  std::string content(std::string_view name);

  // What was wrong; empty when all is well. An argument that was never read is a mistake too, so
  // this comes last.
  std::string problem() const;

 private:
  lib::Json find(std::string_view name);
  void blame(std::string_view name, std::string_view what);

  lib::Json object_;
  std::vector<std::string_view> known_;
  std::string problem_;
};

}  // namespace parley::edge::tools
