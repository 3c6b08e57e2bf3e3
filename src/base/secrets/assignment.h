// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/secrets/secrets.h"

// The part of the detectors that judges names and values: `password = "..."`.
namespace parley::base::secrets {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_upper(c) || is_lower(c); }
constexpr bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_base64url(char c) { return is_alnum(c) || c == '_' || c == '-'; }
constexpr bool is_base64(char c) { return is_alnum(c) || c == '+' || c == '/' || c == '='; }

class CharacterSet {
 public:
  constexpr explicit CharacterSet(std::string_view characters) {
    for (const char c : characters) {
      has_[static_cast<uint8_t>(c)] = true;
    }
  }
  constexpr bool has(char c) const { return has_[static_cast<uint8_t>(c)]; }

 private:
  std::array<bool, 256> has_{};
};

constexpr bool is_space(char c) { return c == ' ' || c == '\t'; }
constexpr size_t spaces_max = 8;

constexpr uint32_t packed(char a, char b, char c) {
  return (static_cast<uint32_t>(static_cast<uint8_t>(a)) << 16 |
          static_cast<uint32_t>(static_cast<uint8_t>(b)) << 8 | static_cast<uint8_t>(c)) |
         0x202020;  // in lower case
}

// The last three letters of names that mean a secret, by a hash without collisions.
struct NameEnds {
  std::array<uint32_t, 64> slots{};
  static constexpr size_t slot(uint32_t letters) { return (letters * 0x9e3779b1u) >> 26; }

  constexpr NameEnds() {
    for (const std::string_view end :
         {"ord", "swd", "pwd", "ase", "ial", "als", "ken", "ion", "ass", "ret", "key"}) {
      slots[slot(packed(end[0], end[1], end[2]))] = packed(end[0], end[1], end[2]);
    }
  }
  constexpr bool has(uint32_t letters) const { return slots[slot(letters)] == letters; }
};
inline constexpr NameEnds name_ends;
static_assert(std::ranges::count_if(name_ends.slots, [](uint32_t each) { return each != 0; }) ==
              11);

// Most names are out by their last letters; those that stay are looked at as a whole.
constexpr bool may_end_name(std::string_view name) {
  const size_t n = name.size();
  if (n < 6) {
    return n >= 3 && name_ends.has(packed(name[n - 3], name[n - 2], name[n - 1]));
  }
  const uint32_t letters = packed(name[n - 3], name[n - 2], name[n - 1]);
  // Of these two there are very many: database, version. A passphrase and an authorization count.
  return name_ends.has(letters) &&
         (letters != packed('i', 'o', 'n') || (name[n - 6] | 32) == 'z') &&
         (letters != packed('a', 's', 'e') || (name[n - 4] | 32) == 'r');
}

// Where the name ends that stands before the `=` or `:` at `at`.
constexpr size_t name_end(std::string_view text, size_t at) {
  size_t end = at;
  if (text[at] == '=' && end > 0 && text[end - 1] == ':') {
    --end;  // name := value
  }
  const size_t first = end - std::min(end, spaces_max);
  while (end > first && is_space(text[end - 1])) {
    --end;
  }
  if (end > 1 && text[end - 1] == ']') {
    --end;  // config["password"] = ...
  }
  if (end > 1 && (text[end - 1] == '"' || text[end - 1] == '\'')) {
    --end;
    end -= text[end - 1] == '\\' ? 1 : 0;  // JSON in a string of JSON
  }
  return end;
}

// Whether it is worth to look at what is assigned there: made to be cheap where it is not.
constexpr bool may_be_assigned(std::string_view text, size_t at) {
  return may_end_name(text.substr(0, name_end(text, at)));
}

// How many different characters there are, up to 64 bytes on. A hint: few of them are a
// placeholder.
size_t distinct(std::string_view text);
// Whether the text says itself that it is none: `your-token`, `${TOKEN}`, `xxxx`, `...EXAMPLE`.
bool is_placeholder(std::string_view text);

// What is assigned at a `=` or `:`. `size` 0: nothing whose name says that it is a secret, or
// nothing that there are looks for.
struct Assignment {
  SecretKind kind = SecretKind::count;  // `count`: it does not look like a real one
  size_t at = 0;
  size_t size = 0;
  bool is_quoted = false;
};
Assignment assigned_at(std::string_view text, size_t at, Looks& looks);

}  // namespace parley::base::secrets
