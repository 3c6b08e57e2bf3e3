// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

namespace parley::base {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

constexpr bool dash_before_byte(size_t n) { return n == 4 || n == 6 || n == 8 || n == 10; }

int digit_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return -1;
}

}  // namespace

std::string format_uuid(const Id128& id) {
  std::string text;
  text.reserve(36);
  for (size_t n = 0; n < id.bytes.size(); ++n) {
    if (dash_before_byte(n)) {
      text.push_back('-');
    }
    text.push_back(digits[id.bytes[n] >> 4]);
    text.push_back(digits[id.bytes[n] & 15]);
  }
  return text;
}

std::optional<Id128> parse_uuid(std::string_view text) {
  if (text.size() != 36) {
    return std::nullopt;
  }
  Id128 id;
  size_t at = 0;
  for (size_t n = 0; n < id.bytes.size(); ++n) {
    if (dash_before_byte(n) && text[at++] != '-') {
      return std::nullopt;
    }
    const int high = digit_value(text[at]);
    const int low = digit_value(text[at + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    id.bytes[n] = static_cast<uint8_t>(high * 16 + low);
    at += 2;
  }
  return id;
}

}  // namespace parley::base
