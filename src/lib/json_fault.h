// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace parley::lib {

// Where and why a text is not JSON. simdjson says only that it is not; this reads the text again,
// slowly, for the one who has to correct it.
struct JsonFault {
  bool found = false;
  size_t line = 1;    // from 1
  size_t column = 1;  // in bytes, from 1
  std::string what;   // what was wanted, and what is there
};

// The first fault of `text`: of grammar, UTF-8, depth, or a number that does not fit. Accepts
// exactly what JsonDocument accepts.
JsonFault find_json_fault(std::string_view text, size_t depth_max);

// The length of the UTF-8 character at the start of `text`; 0 when there is none.
size_t utf8_length(std::string_view text);

}  // namespace parley::lib
