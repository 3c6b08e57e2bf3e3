// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/settings_text.h"
#include "lib/json_writer.h"
#include "lib/toml.h"

namespace parley::app {

namespace {

using base::Code;
using base::Error;
using Change = Settings::Change;

std::string key_of(const std::string& name) {
  const bool is_bare = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-';
  });
  std::string out = is_bare ? name : "";
  if (!is_bare) {
    lib::append_json_string(out, name);  // a basic string has the same escapes
  }
  return out;
}

std::string header_of(std::span<const std::string> path) {
  std::string name;
  for (const std::string& key : path) {
    name += (name.empty() ? "" : ".") + key_of(key);
  }
  return "[" + name + "]";
}

// The document without the lines of the table and of the tables below it. May cut too much where a
// string of several lines looks like a header: the caller compares.
std::string without_table(std::string_view text, const std::string& header) {
  const std::string below = header.substr(0, header.size() - 1) + ".";
  std::string out;
  bool is_inside = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    const size_t first = line.find_first_not_of(" \t");
    const std::string_view words = line.substr(std::min(first, line.size()));
    if (words.starts_with('[')) {
      is_inside = words.starts_with(header) || words.starts_with(below);
    }
    if (!is_inside) {
      out += line;
    }
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace

std::expected<Settings, Error> add_toml_table(std::string_view text,
                                              std::span<const std::string> path,
                                              std::string_view body, bool replace) {
  const std::string header = header_of(path);
  const bool has_crlf = text.find("\r\n") != text.npos;
  const std::string table = header + "\n" + std::string(body);
  const auto before = lib::part_of_toml(text, path);
  const auto wanted = lib::part_of_toml(table, path);
  if (!before || !wanted) {
    return std::unexpected(before ? wanted.error() : before.error());
  }
  if (before->value == wanted->value) {
    return Settings{Change::none, std::string(text)};
  }
  const bool is_there = !before->value.empty();
  if (is_there && !replace) {
    return Settings{Change::refused, std::string(text)};
  }
  std::string out = is_there ? without_table(text, header) : std::string(text);
  const std::string line_end = has_crlf ? "\r\n" : "\n";
  if (!out.empty()) {
    out += out.ends_with('\n') ? "" : line_end;
    out += out.ends_with(line_end + line_end) ? "" : line_end;
  }
  for (const char c : table) {
    out += c == '\n' ? line_end : std::string(1, c);
  }
  // TOML has more ways to write a table than we know how to extend.
  const auto after = lib::part_of_toml(out, path);
  if (!after || after->value != wanted->value || after->rest != before->rest) {
    return std::unexpected(Error{
        Code::bad_request, "it has " + header + " or a table above it inline, so it takes no more",
        {}});
  }
  return Settings{is_there ? Change::replaced : Change::added, out};
}

}  // namespace parley::app
