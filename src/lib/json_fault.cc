// SPDX-License-Identifier: Apache-2.0
#include "lib/json_fault.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace parley::lib {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Reads JSON by recursive descent; its depth is bounded by depth_max.
class Reader {
 public:
  Reader(std::string_view text, size_t depth_max) : text_(text), depth_max_(depth_max) {}

  JsonFault run() {
    skip_space();
    if (value(0)) {
      skip_space();
      if (at_ < text_.size()) {
        fail("nothing more was wanted after the value, found " + found());
      }
    }
    if (fault_.found) {
      const std::string_view before = text_.substr(0, at_);
      fault_.line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
      const size_t newline = before.rfind('\n');
      fault_.column = newline == std::string_view::npos ? at_ + 1 : at_ - newline;
    }
    return fault_;
  }

 private:
  bool fail(std::string what) {
    fault_.found = true;
    fault_.what = std::move(what);
    return false;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string found() const {
    if (at_ >= text_.size()) {
      return "the end of the text";
    }
    const char c = text_[at_];
    if (c > 0x20 && c < 0x7f) {
      return std::string("'") + c + "'";
    }
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<uint8_t>(c);
    return std::string("the byte 0x") + digits[byte >> 4] + digits[byte & 15];
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) {
      ++at_;
    }
  }

  bool value(size_t depth) {
    switch (peek()) {
      case '{':
      case '[':
        if (depth >= depth_max_) {
          return fail("at most " + std::to_string(depth_max_) +
                      " objects and arrays may be inside each other");
        }
        return peek() == '{' ? object(depth + 1) : array(depth + 1);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return peek() == '-' || is_digit(peek()) ? number()
                                                 : fail("a value was wanted, found " + found());
    }
  }

  bool object(size_t depth) {
    ++at_;
    skip_space();
    if (peek() == '}') {
      ++at_;
      return true;
    }
    while (true) {
      if (peek() != '"') {
        return fail("a name in quotes was wanted, found " + found());
      }
      if (!string()) {
        return false;
      }
      skip_space();
      if (peek() != ':') {
        return fail("':' was wanted after a name, found " + found());
      }
      ++at_;
      skip_space();
      if (!value(depth)) {
        return false;
      }
      skip_space();
      if (peek() == '}') {
        ++at_;
        return true;
      }
      if (peek() != ',') {
        return fail("',' or '}' was wanted after a member, found " + found());
      }
      ++at_;
      skip_space();
    }
  }

  bool array(size_t depth) {
    ++at_;
    skip_space();
    if (peek() == ']') {
      ++at_;
      return true;
    }
    while (true) {
      if (!value(depth)) {
        return false;
      }
      skip_space();
      if (peek() == ']') {
        ++at_;
        return true;
      }
      if (peek() != ',') {
        return fail("',' or ']' was wanted after an element, found " + found());
      }
      ++at_;
      skip_space();
    }
  }

  bool word(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) {
      return fail("'" + std::string(wanted) + "' was wanted");
    }
    at_ += wanted.size();
    return true;
  }

  bool string() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<uint8_t>(text_[at_]) < 0x20) {
        return fail("a control character in a string must be escaped, found " + found());
      }
      if (text_[at_] == '\\') {
        if (!escape()) {
          return false;
        }
        continue;
      }
      const size_t length = utf8_length(text_.substr(at_));
      if (length == 0) {
        return fail("UTF-8 was wanted, found " + found());
      }
      at_ += length;
    }
    if (at_ >= text_.size()) {
      return fail("the string is not closed: '\"' was wanted, found the end of the text");
    }
    ++at_;
    return true;
  }

  bool escape() {
    if (at_ + 1 >= text_.size()) {
      at_ = text_.size();
      return fail("an escape was wanted after '\\', found the end of the text");
    }
    if (text_[at_ + 1] != 'u') {
      if (!std::string_view("\"\\/bfnrt").contains(text_[at_ + 1])) {
        return fail("the escape is unknown; JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
      }
      at_ += 2;
      return true;
    }
    const uint32_t first = unit();
    if (first > 0xffff) {
      return fail("four hexadecimal digits were wanted after \\u");
    }
    const size_t start = at_;
    at_ += 6;
    if (first >= 0xdc00 && first <= 0xdfff) {
      at_ = start;
      return fail("half of a surrogate pair is no character");
    }
    if (first >= 0xd800 && first <= 0xdbff) {
      const uint32_t second = unit();
      if (second < 0xdc00 || second > 0xdfff) {
        at_ = start;
        return fail("half of a surrogate pair is no character");
      }
      at_ += 6;
    }
    return true;
  }

  // The number of the \uXXXX here; more than 0xffff when there is none.
  uint32_t unit() const {
    const std::string_view here = text_.substr(at_, 6);
    uint32_t code = 0x10000;
    if (here.size() == 6 && here.starts_with("\\u") &&
        std::all_of(here.begin() + 2, here.end(), is_hex)) {
      std::from_chars(here.data() + 2, here.data() + 6, code, 16);
    }
    return code;
  }

  size_t digits() {
    const size_t start = at_;
    while (is_digit(peek())) {
      ++at_;
    }
    return at_ - start;
  }

  bool number() {
    const size_t start = at_;
    bool integer = true;
    at_ += peek() == '-' ? 1 : 0;
    const bool zero = peek() == '0';
    const size_t count = digits();
    if (count == 0 || (zero && count > 1)) {
      at_ = start;
      return fail(count == 0 ? "digits were wanted after '-'" : "a number has no leading zeros");
    }
    if (peek() == '.') {
      integer = false;
      ++at_;
      if (digits() == 0) {
        return fail("digits were wanted after '.', found " + found());
      }
    }
    if (peek() == 'e' || peek() == 'E') {
      integer = false;
      ++at_;
      at_ += peek() == '+' || peek() == '-' ? 1 : 0;
      if (digits() == 0) {
        return fail("digits were wanted in the exponent, found " + found());
      }
    }
    if (!fits(text_.substr(start, at_ - start), integer)) {
      at_ = start;
      return fail("the number does not fit; send it as a string");
    }
    return true;
  }

  static bool fits(std::string_view digits, bool integer) {
    const char* end = digits.data() + digits.size();
    if (!integer) {
      double value = 0;
      const auto [stop, error] = std::from_chars(digits.data(), end, value);
      // Too small is zero; too large is refused.
      return error == std::errc{} || digits.find("e-") != std::string_view::npos ||
             digits.find("E-") != std::string_view::npos || digits.starts_with("0.") ||
             digits.starts_with("-0.");
    }
    int64_t negative = 0;
    uint64_t positive = 0;
    return (digits[0] == '-' ? std::from_chars(digits.data(), end, negative).ec
                             : std::from_chars(digits.data(), end, positive).ec) == std::errc{};
  }

  std::string_view text_;
  size_t depth_max_;
  size_t at_ = 0;
  JsonFault fault_;
};

}  // namespace

JsonFault find_json_fault(std::string_view text, size_t depth_max) {
  return Reader(text, depth_max).run();
}

size_t utf8_length(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const auto byte = [&](size_t n) { return static_cast<uint8_t>(text[n]); };
  const uint8_t first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) {
    return 0;
  }
  // The second byte's range leaves out overlong forms, surrogates and what is beyond U+10FFFF.
  const uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) {
    return 0;
  }
  for (size_t n = 2; n < length; ++n) {
    if (byte(n) < 0x80 || byte(n) > 0xbf) {
      return 0;
    }
  }
  return length;
}

}  // namespace parley::lib
