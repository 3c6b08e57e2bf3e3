// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "app/mcp/settings_text.h"
#include "lib/json_writer.h"
#include "lib/toml.h"

namespace parley::app {

namespace {

using base::Code;
using base::Error;
using Change = Settings::Change;

std::string key_of(const std::string& name) {
  const bool is_bare = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
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

// Whether a line is the header of the table or of one below it: "{}" for the table itself, empty
// for any other line. The parser knows the ways to write it.
std::string headed(std::string_view line, std::span<const std::string> path) {
  const size_t first = line.find_first_not_of(" \t");
  if (first == line.npos || line[first] != '[') {
    return {};
  }
  const auto part = lib::part_of_toml(line, path);
  return part ? part->value : std::string();
}

bool is_header(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != line.npos && line[first] == '[';
}

bool is_remark(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r\n");
  return first == line.npos || line[first] == '#';
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// The document with `body` as the lines of the table, which keeps its header, and without the
// tables below it. Comments before the next header are the next table's. May go wrong where a
// string of several lines looks like a header: the caller compares.
std::string with_body(std::string_view text, std::span<const std::string> path,
                      const std::string& body, const std::string& line_end) {
  const std::vector<std::string_view> lines = lines_of(text);
  std::string out;
  bool is_put = false;
  for (size_t i = 0; i < lines.size();) {
    const std::string kind = headed(lines[i], path);
    if (kind.empty()) {
      out += lines[i++];
      continue;
    }
    size_t end = i + 1;
    while (end < lines.size() && !is_header(lines[end])) {
      ++end;
    }
    while (end > i + 1 && is_remark(lines[end - 1])) {
      --end;
    }
    if (!is_put) {
      out += kind == "{}" ? std::string(lines[i]) : header_of(path) + line_end;
      out += out.ends_with('\n') ? "" : line_end;
      out += body;
      is_put = true;
    }
    i = end;
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
  const std::string line_end = has_crlf ? "\r\n" : "\n";
  const auto with_line_ends = [&](std::string_view lines) {
    std::string all;
    for (const char c : lines) {
      all += c == '\n' ? line_end : std::string(1, c);
    }
    return all;
  };
  std::string out =
      is_there ? with_body(text, path, with_line_ends(body), line_end) : std::string(text);
  if (!is_there) {
    if (!out.empty()) {
      out += out.ends_with('\n') ? "" : line_end;
      out += out.ends_with(line_end + line_end) ? "" : line_end;
    }
    out += with_line_ends(table);
  }
  // TOML has more ways to write a table than we know how to change.
  const auto after = lib::part_of_toml(out, path);
  if (!after || after->value != wanted->value || after->rest != before->rest) {
    return std::unexpected(
        Error{Code::bad_request,
              "it has " + header + ", or a table above it, in a form that cannot be changed here",
              {}});
  }
  return Settings{is_there ? Change::replaced : Change::added, out};
}

}  // namespace parley::app
