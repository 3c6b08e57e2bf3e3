// SPDX-License-Identifier: Apache-2.0
#include "base/unicode/look_alike.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/unicode/utf8.h"

namespace parley::base {

namespace {

struct Twin {
  char32_t letter;
  char latin;
};

// Sorted by letter.
constexpr auto twins = std::to_array<Twin>({
    {0x0131, 'i'},                                                              // dotless i
    {0x0391, 'a'}, {0x0392, 'b'}, {0x0395, 'e'}, {0x0396, 'z'}, {0x0397, 'h'},  // Greek capitals
    {0x0399, 'i'}, {0x039a, 'k'}, {0x039c, 'm'}, {0x039d, 'n'}, {0x039f, 'o'}, {0x03a1, 'p'},
    {0x03a4, 't'}, {0x03a5, 'y'}, {0x03a7, 'x'}, {0x03b1, 'a'}, {0x03b9, 'i'}, {0x03ba, 'k'},
    {0x03bd, 'v'}, {0x03bf, 'o'},  // and small ones
    {0x03c1, 'p'}, {0x03c5, 'u'}, {0x03c7, 'x'}, {0x03f2, 'c'}, {0x03f3, 'j'}, {0x0405, 's'},
    {0x0406, 'i'}, {0x0408, 'j'},  // Cyrillic capitals
    {0x0410, 'a'}, {0x0412, 'b'}, {0x0415, 'e'}, {0x041a, 'k'}, {0x041c, 'm'}, {0x041d, 'h'},
    {0x041e, 'o'}, {0x0420, 'p'}, {0x0421, 'c'}, {0x0422, 't'}, {0x0423, 'y'}, {0x0425, 'x'},
    {0x0430, 'a'}, {0x0435, 'e'}, {0x043e, 'o'}, {0x0440, 'p'}, {0x0441, 'c'},  // and small ones
    {0x0443, 'y'}, {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'}, {0x04ae, 'y'},
    {0x04af, 'y'}, {0x04ba, 'h'}, {0x04bb, 'h'}, {0x04c0, 'l'}, {0x04cf, 'l'}, {0x0501, 'd'},
    {0x051a, 'q'}, {0x051b, 'q'}, {0x051c, 'w'}, {0x051d, 'w'}, {0x2217, '*'},  // an operator of
                                                                                // mathematics
    {0x212a, 'k'},                                                              // kelvin
});

char32_t seen_as(char32_t character) {
  constexpr char32_t fullwidth_first = 0xff01;
  constexpr char32_t fullwidth_last = 0xff5e;
  if (character >= fullwidth_first && character <= fullwidth_last) {
    character = character - fullwidth_first + '!';
  }
  if (character < 0x80) {
    return static_cast<uint8_t>(to_lower(static_cast<char>(character)));
  }
  const auto* const twin = std::ranges::lower_bound(twins, character, {}, &Twin::letter);
  return twin != twins.end() && twin->letter == character ? static_cast<uint8_t>(twin->latin)
                                                          : character;
}

}  // namespace

std::string skeleton(std::string_view name) {
  std::string seen;
  seen.reserve(name.size());
  while (!name.empty()) {
    const char first = name.front();
    if (const char32_t character = take_character(name); character == not_utf8) {
      seen += first;
    } else {
      put_character(seen_as(character), seen);
    }
  }
  return seen;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

}  // namespace parley::base
