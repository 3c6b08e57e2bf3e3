// SPDX-License-Identifier: Apache-2.0
#include "lib/json.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "base/check.h"
#include "lib/json_fault.h"

namespace parley::lib {

using base::Code;
using base::Error;

// Values read the tape and the starts of the tokens themselves. Both are the same in all of 3.x.
static_assert(simdjson::SIMDJSON_VERSION_MAJOR == 3);

namespace {

// What is kept between texts; simdjson takes some 14 bytes per byte of text.
constexpr size_t kept_bytes_max = size_t{256} * 1024;
constexpr size_t first_bytes = 4096;

// simdjson's nesting counts the root as well.
constexpr size_t root_depth = 1;

std::string about(simdjson::error_code code, std::string_view text, size_t depth_max) {
  const JsonFault fault = find_json_fault(text, depth_max);
  if (!fault.found) {
    return std::string("the text is not JSON: ").append(simdjson::error_message(code));
  }
  return "the text is not JSON at line " + std::to_string(fault.line) + ", column " +
         std::to_string(fault.column) + ": " + fault.what;
}

}  // namespace

struct JsonDocument::Parser {
  simdjson::dom::parser reader;
  std::string text;  // a copy with the room after it that simdjson reads
  std::vector<uint32_t> closes;
  std::vector<uint32_t> open;  // the objects and arrays around a token
  size_t depth_max = 0;

  // Makes room for a text of `bytes`, in steps, and lets go of what a large one before took.
  bool reserve(size_t bytes, size_t depth) {
    const bool too_large = reader.capacity() > kept_bytes_max && bytes <= kept_bytes_max;
    if (too_large) {
      reader = simdjson::dom::parser();
      std::vector<uint32_t>().swap(closes);
      std::string().swap(text);
    }
    if (reader.capacity() >= bytes && depth_max == depth) {
      return true;
    }
    depth_max = depth;
    const size_t capacity = std::bit_ceil(std::max(bytes, first_bytes));
    return reader.allocate(capacity, depth + root_depth) == simdjson::SUCCESS &&
           reader.doc.allocate(capacity) == simdjson::SUCCESS;
  }

  // How many tokens the text has, by the first and quick half of reading it; 0 when it is no JSON.
  uint32_t tokens_in(size_t bytes) {
    const auto error =
        reader.implementation->stage1(reinterpret_cast<const uint8_t*>(text.data()), bytes,
                                      simdjson::stage1_mode::regular);
    return error == simdjson::SUCCESS ? reader.implementation->n_structural_indexes : 0;
  }

  // Finds the end of each object and array, so that any value's text is known at once. False when
  // they are too deep: simdjson does not count an empty one.
  bool match() {
    const uint32_t* starts = reader.implementation->structural_indexes.get();
    const uint32_t count = reader.implementation->n_structural_indexes;
    if (closes.size() < count) {
      closes.resize(std::bit_ceil(count));
    }
    open.resize(depth_max);
    size_t depth = 0;
    for (uint32_t token = 0; token < count; ++token) {
      // The bit is all that tells `[` from `{` and `]` from `}`; no other token has these values.
      const char c = static_cast<char>(text[starts[token]] | 0x20);
      if (c == '{') {
        if (depth == depth_max) {
          return false;
        }
        open[depth++] = token;
      } else if (c == '}') {
        CHECK(depth > 0);
        closes[open[--depth]] = token;
      }
    }
    return true;
  }
};

JsonDocument::JsonDocument() : parser_(std::make_unique<Parser>()) {}
JsonDocument::~JsonDocument() = default;

std::expected<Json, Error> JsonDocument::parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return std::unexpected(Error{Code::payload_too_large,
                                 "the text has " + std::to_string(text.size()) +
                                     " bytes; at most " + std::to_string(limits.bytes_max) +
                                     " are taken",
                                 {}});
  }
  if (!parser_->reserve(text.size(), limits.depth_max)) {
    return std::unexpected(Error{Code::overloaded, "no memory to read JSON; send it again", {}});
  }
  std::string& copy = parser_->text;
  copy.reserve(std::bit_ceil(text.size() + simdjson::SIMDJSON_PADDING));
  copy.assign(text);
  copy.append(simdjson::SIMDJSON_PADDING, ' ');
  if (text.size() > limits.tokens_max && parser_->tokens_in(text.size()) > limits.tokens_max) {
    return std::unexpected(Error{Code::payload_too_large,
                                 "the text has more than " + std::to_string(limits.tokens_max) +
                                     " brackets, commas and values",
                                 {}});
  }
  const auto result = parser_->reader.parse(copy.data(), text.size(), false);
  const auto error = result.error() != simdjson::SUCCESS ? result.error()
                     : parser_->match()                  ? simdjson::SUCCESS
                                                         : simdjson::DEPTH_ERROR;
  if (error != simdjson::SUCCESS) {
    return std::unexpected(Error{Code::bad_request, about(error, text, limits.depth_max), {}});
  }
  const auto& reader = parser_->reader;
  tape_ = JsonTape{.words = reader.doc.tape.get(),
                   .strings = reader.doc.string_buf.get(),
                   .text = copy.data(),
                   .starts = reader.implementation->structural_indexes.get(),
                   .closes = parser_->closes.data()};
  return Json(&tape_, 1, 0);
}

std::optional<int64_t> Json::as_int64() const {
  if (tag() == 'l') {
    return number<int64_t>();
  }
  return std::nullopt;
}

std::optional<uint64_t> Json::as_uint64() const {
  if (tag() == 'u' || (tag() == 'l' && number<int64_t>() >= 0)) {
    return number<uint64_t>();
  }
  return std::nullopt;
}

std::optional<double> Json::as_double() const {
  switch (tag()) {
    case 'd':
      return number<double>();
    case 'l':
      return static_cast<double>(number<int64_t>());
    case 'u':
      return static_cast<double>(number<uint64_t>());
    default:
      return std::nullopt;
  }
}

std::string_view Json::raw() const {
  if (!*this) {
    return {};
  }
  const char* start = tape_->text + tape_->starts[token_];
  if (is_container()) {
    return {start, tape_->text + tape_->starts[tape_->closes[token_]] + 1};
  }
  const char* end = tape_->text + tape_->starts[token_ + 1];
  while (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\r' || end[-1] == '\t') {
    --end;
  }
  return {start, end};
}

Json Json::find(std::string_view key) const {
  for (const JsonMember& member : members()) {
    if (member.key == key) {
      return member.value;
    }
  }
  return {};
}

}  // namespace parley::lib
