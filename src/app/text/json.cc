// SPDX-License-Identifier: Apache-2.0
#include "app/text/json.h"

#include <cstdio>

#include "app/text/terminal.h"

namespace parley::app {

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
