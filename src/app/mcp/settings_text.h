// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace parley::app {

// Adds to the text of another program's settings and leaves all the rest as it is, to the byte:
// entries, order, comments, indentation, line ends. Pure. An empty text is a document without
// entries. bad_request, with the line, for a text that is none: nothing is guessed.
struct Settings {
  enum class Change : uint8_t {
    added,
    none,      // the entry is there and the same
    replaced,  // it was there and another
    refused,   // it is there and another, and `replace` was not asked for
  };
  Change change = Change::none;
  std::string text;          // the whole document afterwards
  std::string instead = {};  // of a refused hook: the command that is there
};

// `value`, JSON, as the member at `path` of a document of JSON that may have comments and commas
// before a closing bracket, as VS Code writes them.
std::expected<Settings, base::Error> add_json_member(std::string_view text,
                                                     std::span<const std::string> path,
                                                     std::string_view value, bool replace);

// `value`, JSON, as one more element of the array at `path`, unless an element of it has `mark` in
// it: JSON without space.
std::expected<Settings, base::Error> add_json_element(std::string_view text,
                                                      std::span<const std::string> path,
                                                      std::string_view value,
                                                      std::string_view mark);

// `value`, JSON, as one more element of the array of hooks at `path`, which runs `command`.
// Commands there that are `ours`, directly or in a group of hooks, count as the entry: they stay if
// they are that one command, or are replaced by it.
std::expected<Settings, base::Error> add_json_hook(
    std::string_view text, std::span<const std::string> path, std::string_view value,
    std::string_view command, const std::function<bool(std::string_view)>& ours, bool replace);

// The table `path` of a TOML document; `body` is its lines. One that is there is replaced where it
// stands, and only where it has lines of its own, not where it is written inline.
std::expected<Settings, base::Error> add_toml_table(std::string_view text,
                                                    std::span<const std::string> path,
                                                    std::string_view body, bool replace);

}  // namespace parley::app
