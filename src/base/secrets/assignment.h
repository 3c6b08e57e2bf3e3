// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

// How many different characters there are, up to 64 bytes on. A hint: few of them are a placeholder.
size_t distinct(std::string_view text);
// Whether the text says itself that it is none: `your-token`, `${TOKEN}`, `xxxx`, `...EXAMPLE`.
bool is_placeholder(std::string_view text);

// What is assigned at a `=` or `:`. `size` 0: nothing whose name says that it is a secret.
struct Assignment {
  SecretKind kind = SecretKind::count;  // `count`: it does not look like a real one
  size_t at = 0;
  size_t size = 0;
  bool is_quoted = false;
};
Assignment assigned_at(std::string_view text, size_t at);

}  // namespace parley::base::secrets
