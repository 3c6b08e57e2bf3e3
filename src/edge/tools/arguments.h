// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"

namespace parley::edge::mcp {

// The arguments of a call, asked for one by one. A model reads what was wrong and calls again, so
// the first fault is kept in its words: which argument, what it should be.
class Arguments {
 public:
  explicit Arguments(lib::Json object) : object_(object) {}

  std::string text(std::string_view name);  // must be there
  std::string optional_text(std::string_view name);
  // The first word where it is not there.
  std::string word(std::string_view name, std::initializer_list<std::string_view> words);
  uint64_t number(std::string_view name, uint64_t fallback, uint64_t min, uint64_t max);
  std::vector<std::string> texts(std::string_view name);
  // Text as it is, anything else as JSON text; must be there.
  std::string content(std::string_view name);

  // What was wrong, also an argument that nobody asked for; empty when all is well.
  std::string problem() const;

 private:
  lib::Json find(std::string_view name);
  void blame(std::string_view name, std::string_view what);

  lib::Json object_;
  std::vector<std::string_view> known_;
  std::string problem_;
};

}  // namespace parley::edge::mcp
