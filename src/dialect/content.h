// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string_view>

#include "base/error.h"
#include "lib/json.h"

namespace parley::dialect {

// What a dialect wants of the members of an object that it reads for more than one type of message,
// as a table: a schema in its own words, which says what was wanted, what was found, and where.

// What a value must be.
struct Shape {
  std::string_view wanted;  // `a string`
  bool (*fits)(lib::Json value);
};

struct ContentRow {
  uint32_t types;           // a bit for each type of message that has it
  std::string_view within;  // the path of the object, or of the array of objects, that it is in
  std::string_view key;
  const Shape* shape;
  bool required = false;  // else it may be left out, or null
};

constexpr uint32_t bit_of(uint8_t type) { return uint32_t{1} << type; }

// Checks an object that stands at `pointer` in a message of this type. Members of no row are not
// looked at, but one that has a row must not be there twice. An error names the member.
std::expected<void, base::Error> check_content(std::span<const ContentRow> rows, uint8_t type,
                                               lib::Json object, std::string_view pointer);

}  // namespace parley::dialect
