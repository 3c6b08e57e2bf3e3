// SPDX-License-Identifier: Apache-2.0
#include "lib/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "base/unicode/utf8.h"
#include "lib/json_fault.h"

namespace parley::lib {

namespace {

constexpr std::string_view hex = "0123456789abcdef";

// Whether a byte goes out as it is, without a look at its neighbours.
constexpr std::array<bool, 256> plain = [] {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < 0x80; ++c) {
    table[c] = c != '"' && c != '\\';
  }
  return table;
}();

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += hex[static_cast<uint8_t>(c) >> 4];
      out += hex[static_cast<uint8_t>(c) & 15];
  }
}

void append_unit(std::string& out, uint32_t unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    out += hex[unit >> shift & 15];
  }
}

template <class T>
void append_number(std::string& out, T value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end);
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

void skip_space(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
}

// The size of the string at the start of `text`, with its quotes; 0 when it is not closed.
size_t string_size(std::string_view text) {
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return 0;
}

// The size of the value at the start of `text`; 0 when it does not end.
size_t value_size(std::string_view text) {
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '"': {
        const size_t size = string_size(text.substr(at));
        if (size == 0) {
          return 0;
        }
        at += size - 1;
        break;
      }
      case '{':
      case '[':
        ++depth;
        continue;
      case '}':
      case ']':
        if (depth == 0) {
          return at;
        }
        --depth;
        break;
      case ',':
        if (depth == 0) {
          return at;
        }
        continue;
      default:
        continue;
    }
    if (depth == 0) {
      return at + 1;
    }
  }
  return 0;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  size_t start = 0;
  size_t at = 0;
  while (at < text.size()) {
    if (plain[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    const size_t length = utf8_length(text.substr(at));
    if (length > 1) {
      at += length;
      continue;
    }
    out.append(text, start, at - start);
    if (length == 1) {
      append_escape(out, text[at]);
    } else {
      out += "\xef\xbf\xbd";
    }
    start = ++at;
  }
  out.append(text, start, at - start);
  out += '"';
}

void append_visible_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::string_view rest = text;
    const auto character = static_cast<uint32_t>(base::take_character(text));
    if (character == base::not_utf8) {
      append_unit(out, 0xfffd);
    } else if (character < 0x20 || character == '"' || character == '\\') {
      append_escape(out, rest.front());
    } else if (!base::is_invisible(character)) {
      out += rest.substr(0, rest.size() - text.size());
    } else if (character < 0x10000) {
      append_unit(out, character);
    } else {
      append_unit(out, 0xd800 + ((character - 0x10000) >> 10));
      append_unit(out, 0xdc00 + ((character - 0x10000) & 0x3ff));
    }
  }
  out += '"';
}

void JsonWriter::begin() {
  if (comma_) {
    out_ += ',';
  }
}

JsonWriter& JsonWriter::done() {
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::object() {
  begin();
  out_ += '{';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  return done();
}

JsonWriter& JsonWriter::array() {
  begin();
  out_ += '[';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  return done();
}

JsonWriter& JsonWriter::key(std::string_view name) {
  begin();
  append_json_string(out_, name);
  out_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::raw_key(std::string_view quoted) {
  begin();
  out_ += quoted;
  out_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  begin();
  append_json_string(out_, value);
  return done();
}

JsonWriter& JsonWriter::number(int64_t value) {
  begin();
  append_number(out_, value);
  return done();
}

JsonWriter& JsonWriter::number(uint64_t value) {
  begin();
  append_number(out_, value);
  return done();
}

JsonWriter& JsonWriter::real(double value) {
  if (!std::isfinite(value)) {
    return null();
  }
  begin();
  append_number(out_, value);
  return done();
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::time(base::Time value) { return plain(base::format_time(value)); }

JsonWriter& JsonWriter::duration(base::Duration value) {
  return plain(base::format_duration(value));
}

JsonWriter& JsonWriter::uuid(const base::Id128& value) { return plain(base::format_uuid(value)); }

JsonWriter& JsonWriter::plain(std::string_view value) {
  begin();
  out_ += '"';
  out_ += value;
  out_ += '"';
  return done();
}

JsonWriter& JsonWriter::raw(std::string_view value) {
  begin();
  out_ += value;
  return done();
}

JsonSlices::JsonSlices(std::string_view object) : rest_(object) {
  skip_space(rest_);
  if (rest_.starts_with('{')) {
    rest_.remove_prefix(1);
  } else {
    rest_ = {};
  }
}

bool JsonSlices::next(JsonSlice& slice) {
  skip_space(rest_);
  if (!rest_.starts_with('"')) {
    return false;
  }
  const size_t key_size = string_size(rest_);
  slice.key = rest_.substr(0, key_size);
  rest_.remove_prefix(key_size);
  skip_space(rest_);
  if (key_size == 0 || !rest_.starts_with(':')) {
    return false;
  }
  rest_.remove_prefix(1);
  skip_space(rest_);
  size_t size = value_size(rest_);
  if (size == 0) {
    return false;
  }
  slice.value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  while (is_space(slice.value.back())) {
    slice.value.remove_suffix(1);
  }
  skip_space(rest_);
  if (rest_.starts_with(',')) {
    rest_.remove_prefix(1);
  }
  return true;
}

}  // namespace parley::lib
