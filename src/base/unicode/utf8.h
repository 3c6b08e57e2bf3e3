// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace parley::base {

// Takes the first character off `text`, which is not empty. Bytes that are no UTF-8 are one
// character each, of the value `not_utf8`.
constexpr char32_t not_utf8 = 0xffffffff;
char32_t take_character(std::string_view& text);

// Appends the character in UTF-8.
void put_character(char32_t character, std::string& out);

}  // namespace parley::base
