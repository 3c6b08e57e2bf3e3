// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace parley::lib {

// A wall around toml++.

// One value of a TOML document: its dotted name, its value as text (`true`, `60`, a string as it
// is, an array of these with commas between) and its line.
struct TomlEntry {
  std::string name;
  std::string value;
  int line = 0;

  bool operator==(const TomlEntry&) const = default;
};

// All values of the document, sorted by name. bad_request with `line N: ...` when it is no TOML, or
// has a value that is none of the above: a float, a date, an array of arrays or tables.
std::expected<std::vector<TomlEntry>, base::Error> read_toml(std::string_view text);

}  // namespace parley::lib
