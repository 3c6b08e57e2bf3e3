// SPDX-License-Identifier: Apache-2.0
#include "app/text/json.h"

#include <cstdio>

#include "app/text/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

void append_laid_out(std::string& out, lib::Json value, const std::string& line) {
  const std::string inner = line + "  ";
  const bool is_object = value.is_object();
  if ((!is_object && value.kind() != lib::JsonKind::array) || value.empty()) {
    if (const auto text = value.as_string()) {
      lib::append_visible_json_string(out, *text);
    } else {
      out += is_object ? "{}" : value.kind() == lib::JsonKind::array ? "[]" : value.raw();
    }
    return;
  }
  std::string_view before = is_object ? "{" : "[";
  for (const auto& [key, member] : value.members()) {
    out.append(before).append(inner);
    before = ",";
    lib::append_visible_json_string(out, key);
    out += ": ";
    append_laid_out(out, member, inner);
  }
  for (const lib::Json element : value.elements()) {
    out.append(before).append(inner);
    before = ",";
    append_laid_out(out, element, inner);
  }
  out.append(line).append(is_object ? "}" : "]");
}

}  // namespace

std::string laid_out(lib::Json value) {
  std::string out;
  append_laid_out(out, value, "\n");
  return out;
}

void print_json(std::string_view json) {
  const std::string text = printable_json(json);
  std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
}

std::string text_of(lib::Json object, std::string_view key) {
  const lib::Json value = object.find(key);
  if (!value || value.is_null()) {
    return {};
  }
  const auto text = value.as_string();
  return std::string(text ? *text : value.raw());
}

}  // namespace parley::app
