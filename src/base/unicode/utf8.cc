// SPDX-License-Identifier: Apache-2.0
#include "base/unicode/utf8.h"

namespace parley::base {

char32_t take_character(std::string_view& text) {
  const auto first = static_cast<uint8_t>(text.front());
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  char32_t character = length == 1 ? first : first & (0x7f >> length);
  bool good = length > 0 && length <= text.size();
  for (size_t n = 1; good && n < length; ++n) {
    const auto next = static_cast<uint8_t>(text[n]);
    good = (next & 0xc0) == 0x80;
    character = character << 6 | (next & 0x3f);
  }
  // Longer than needed, half of a pair of UTF-16, or beyond the last character.
  good = good && !(length == 3 && character < 0x800) && !(length == 4 && character < 0x10000) &&
         !(character >= 0xd800 && character <= 0xdfff) && character <= 0x10ffff;
  text.remove_prefix(good ? length : 1);
  return good ? character : not_utf8;
}

void put_character(char32_t character, std::string& out) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xc0 | character >> 6);
    put(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    put(0xe0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3f));
    put(0x80 | (character & 0x3f));
  } else {
    put(0xf0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3f));
    put(0x80 | (character >> 6 & 0x3f));
    put(0x80 | (character & 0x3f));
  }
}

}  // namespace parley::base
