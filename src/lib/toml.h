// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace parley::lib {

// A wall around toml++.

// One value of a TOML document: its dotted name, its value as text (`true`, `60`, `0.5`, a string
// as it is, an array of these with commas between) and its line. A table of an array of tables has
// its number in the name, from 0: `github.route[1].worker`. It has an entry of its own with no
// value, so that one that is empty is seen.
struct TomlEntry {
  std::string name;
  std::string value;
  int line = 0;

  bool operator==(const TomlEntry&) const = default;
};

// All values of the document, sorted by name. bad_request with `line N: ...` when it is no TOML, or
// has a value that is none of the above: a date, infinity, an array of arrays.
std::expected<std::vector<TomlEntry>, base::Error> read_toml(std::string_view text);

// For those who add to a document of somebody else's and must know what they changed: the value at
// `path`, and all the rest, each as a text that is the same for the same values, whatever the
// spelling. Either is empty where there is none; a table that `path` leads through counts as
// nothing when nothing else is in it. bad_request with `line N: ...` when it is no TOML.
struct TomlPart {
  std::string value;
  std::string rest;

  bool operator==(const TomlPart&) const = default;
};
std::expected<TomlPart, base::Error> part_of_toml(std::string_view text,
                                                  std::span<const std::string> path);

}  // namespace parley::lib
