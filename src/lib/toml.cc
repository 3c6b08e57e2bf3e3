// SPDX-License-Identifier: Apache-2.0
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include "lib/toml.h"

#include <toml++/toml.h>

#include <optional>
#include <utility>

namespace parley::lib {

namespace {

using base::Code;
using base::Error;

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

std::unexpected<Error> refuse(int line, std::string_view what) {
  std::string detail = "line " + std::to_string(line) + ": ";
  return std::unexpected(Error{Code::bad_request, detail.append(what), {}});
}

std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* number = node.as_integer()) {
    return std::to_string(number->get());
  }
  if (const auto* flag = node.as_boolean()) {
    return flag->get() ? "true" : "false";
  }
  return std::nullopt;
}

std::optional<std::string> joined(const toml::array& array) {
  std::string all;
  for (const toml::node& item : array) {
    const auto text = scalar(item);
    if (!text) {
      return std::nullopt;
    }
    all += (all.empty() ? "" : ",") + *text;
  }
  return all;
}

// The parser bounds the depth of nesting, so that this recursion is bounded too.
std::expected<void, Error> collect(const toml::table& table, const std::string& prefix,
                                   std::vector<TomlEntry>& entries) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      if (auto done = collect(*inner, name + ".", entries); !done) {
        return done;
      }
      continue;
    }
    const toml::array* array = node.as_array();
    auto value = array != nullptr ? joined(*array) : scalar(node);
    if (!value) {
      return refuse(line_of(node), name +
                                       " takes a string, a whole number, true or false, or an "
                                       "array of these");
    }
    entries.push_back({name, std::move(*value), line_of(node)});
  }
  return {};
}

}  // namespace

std::expected<std::vector<TomlEntry>, Error> read_toml(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return refuse(static_cast<int>(error.source().begin.line), error.description());
  }
  std::vector<TomlEntry> entries;
  if (auto done = collect(parsed.table(), "", entries); !done) {
    return std::unexpected(done.error());
  }
  return entries;
}

}  // namespace parley::lib
