// SPDX-License-Identifier: Apache-2.0
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include "lib/toml.h"

#include <toml++/toml.h>

#include <cmath>
#include <optional>
#include <utility>

#include "lib/json_writer.h"

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
  if (const auto* real = node.as_floating_point(); real != nullptr && std::isfinite(real->get())) {
    std::string text;
    JsonWriter(text).real(real->get());
    return text;
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
    if (array != nullptr && array->is_array_of_tables()) {
      for (size_t n = 0; n < array->size(); ++n) {
        const std::string row = name + "[" + std::to_string(n) + "]";
        entries.push_back({row, "", line_of(*array->get(n))});
        if (auto done = collect(*array->get(n)->as_table(), row + ".", entries); !done) {
          return done;
        }
      }
      continue;
    }
    auto value = array != nullptr ? joined(*array) : scalar(node);
    if (!value) {
      return refuse(line_of(node), name +
                                       " takes a string, a number, true or false, or an "
                                       "array of these");
    }
    entries.push_back({name, std::move(*value), line_of(node)});
  }
  return {};
}

std::string moment(const toml::date& day) {
  return std::to_string(day.year) + "-" + std::to_string(day.month) + "-" +
         std::to_string(day.day);
}

std::string moment(const toml::time& time) {
  return std::to_string(time.hour) + ":" + std::to_string(time.minute) + ":" +
         std::to_string(time.second) + "." + std::to_string(time.nanosecond);
}

std::string moment(const toml::date_time& at) {
  return moment(at.date) + "T" + moment(at.time) +
         (at.offset ? "+" + std::to_string(at.offset->minutes) : "");
}

// One spelling for each value. The parser bounds the depth here too. toml++ keeps tables sorted.
void append_canonical(std::string& out, const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    out += "{";
    for (const auto& [key, value] : *table) {
      append_json_string(out, key.str());
      out += ":";
      append_canonical(out, value);
      out += ",";
    }
    out += "}";
  } else if (const toml::array* array = node.as_array()) {
    out += "[";
    for (const toml::node& item : *array) {
      append_canonical(out, item);
      out += ",";
    }
    out += "]";
  } else if (const auto* text = node.as_string()) {
    append_json_string(out, text->get());
  } else if (const auto* real = node.as_floating_point()) {
    JsonWriter(out).real(real->get());
    out += "f";
  } else if (const auto* day = node.as_date()) {
    out += moment(day->get());
  } else if (const auto* time = node.as_time()) {
    out += moment(time->get());
  } else if (const auto* at = node.as_date_time()) {
    out += moment(at->get());
  } else {
    out += scalar(node).value_or("");
  }
}

// Takes the value at `path` out of the table, and tables that are empty without it.
std::string take(toml::table& table, std::span<const std::string> path) {
  toml::node* node = table.get(path.front());
  std::string value;
  if (node == nullptr) {
    return value;
  }
  toml::table* inner = node->as_table();
  if (path.size() == 1) {
    append_canonical(value, *node);
    table.erase(path.front());
  } else if (inner != nullptr) {
    value = take(*inner, path.subspan(1));
    if (inner->empty()) {
      table.erase(path.front());
    }
  }
  return value;
}

}  // namespace

std::expected<TomlPart, Error> part_of_toml(std::string_view text,
                                            std::span<const std::string> path) {
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return refuse(static_cast<int>(error.source().begin.line), error.description());
  }
  TomlPart part;
  part.value = take(parsed.table(), path);
  append_canonical(part.rest, parsed.table());
  return part;
}

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
