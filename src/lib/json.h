// SPDX-License-Identifier: Apache-2.0
// Over 150 lines: the accessors are inline, for a codec reads some twenty of them per message.
#pragma once

#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace parley::lib {

enum class JsonKind : uint8_t { none, null, boolean, number, string, array, object };

// What JsonDocument shares with its values: simdjson's tape (one word per value, see its
// doc/tape.md) and, for each token of the text, where it starts and which one closes it.
struct JsonTape {
  const uint64_t* words = nullptr;
  const uint8_t* strings = nullptr;
  const char* text = nullptr;
  const uint32_t* starts = nullptr;  // of tokens; one more than there are: the text's end
  const uint32_t* closes = nullptr;  // for a token that opens an object or array: its end
};

// The tape of no value: its word has no tag, so that it is of no kind.
inline constexpr uint64_t json_no_word = 0;
inline constexpr JsonTape json_no_tape{.words = &json_no_word};

// A value in a JsonDocument: two words, passed by value. It and every text from it are valid until
// the document parses again or goes.
//
// A default one is no value, as is the member that an object does not have. It is false and of no
// kind, and may be asked everything: it has no members, no elements and no text, and is not null.
class Json {
 public:
  class Members;
  class Elements;

  Json() = default;
  explicit operator bool() const { return tape_ != &json_no_tape; }

  JsonKind kind() const;
  bool is_object() const { return tag() == '{'; }
  bool is_null() const { return tag() == 'n'; }

  // None when the value is of another kind, or a number that does not fit. 1.0 is no integer.
  std::optional<bool> as_bool() const;
  std::optional<int64_t> as_int64() const;
  std::optional<uint64_t> as_uint64() const;
  std::optional<double> as_double() const;
  std::optional<std::string_view> as_string() const;  // unescaped

  // The exact text of the value in the source, without the space around it. Empty for no value.
  std::string_view raw() const;

  // The member `key` of an object, the first where there are several. No value when there is none
  // or when this is no object.
  Json find(std::string_view key) const;

  // In the order of the source, each key as often as it is there. Empty for other kinds.
  Members members() const;
  Elements elements() const;
  // How many members or elements there are; counts no further than `max`. 0 for other kinds.
  size_t size(size_t max = SIZE_MAX) const;
  bool empty() const { return size(1) == 0; }

 private:
  friend class JsonDocument;
  Json(const JsonTape* tape, uint32_t word, uint32_t token)
      : tape_(tape), word_(word), token_(token) {}
  uint64_t word() const { return tape_->words[word_]; }
  char tag() const { return static_cast<char>(word() >> 56); }
  bool is_container() const { return tag() == '{' || tag() == '['; }
  template <class T>
  T number() const {
    T value{};
    std::memcpy(&value, tape_->words + word_ + 1, sizeof value);
    return value;
  }
  uint32_t word_after() const;
  uint32_t token_after() const { return (is_container() ? tape_->closes[token_] : token_) + 1; }

  const JsonTape* tape_ = &json_no_tape;
  uint32_t word_ = 0;
  uint32_t token_ = 0;
};

struct JsonMember {
  std::string_view key;  // unescaped
  Json value;
};

class Json::Members {
 public:
  struct Iterator {
    Json key;
    JsonMember operator*() const { return {*key.as_string(), value()}; }
    Json value() const { return {key.tape_, key.word_ + 1, key.token_ + 2}; }
    // The token after a value is a comma or the end.
    Iterator& operator++() {
      key = Json(key.tape_, value().word_after(), value().token_after() + 1);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return key.word_ != other.key.word_; }
  };
  Iterator begin() const { return first; }
  Iterator end() const { return last; }

  Iterator first;
  Iterator last;
};

class Json::Elements {
 public:
  struct Iterator {
    Json value;
    Json operator*() const { return value; }
    Iterator& operator++() {
      value = Json(value.tape_, value.word_after(), value.token_after() + 1);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return value.word_ != other.value.word_; }
  };
  Iterator begin() const { return first; }
  Iterator end() const { return last; }

  Iterator first;
  Iterator last;
};

struct JsonLimits {
  size_t bytes_max = size_t{4} * 1024 * 1024;
  size_t depth_max = 64;  // of objects and arrays inside each other
  // Brackets, colons, commas and values. What has very many takes long to read, whatever its size.
  size_t tokens_max = size_t{512} * 1024;
};

// Reads JSON (RFC 8259) with simdjson. Keeps its memory for the next text, but gives back what a
// large one took. Not thread-safe: one per thread.
//
// Duplicate keys are not refused here, because the body of a message is not ours to judge: a codec
// refuses them among the members it reads. Integers outside of -2^63 to 2^64-1 and numbers
// beyond a double are refused.
class JsonDocument {
 public:
  JsonDocument();
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  // Copies and reads `text`, which may go afterwards, but is no part of this document. Fails with
  // payload_too_large, or with bad_request and a detail that says what is wrong at which line and
  // column.
  std::expected<Json, base::Error> parse(std::string_view text, const JsonLimits& limits = {});

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  JsonTape tape_;
};

inline JsonKind Json::kind() const {
  switch (tag()) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    case 0:
      return JsonKind::none;
    default:
      return JsonKind::number;
  }
}

inline uint32_t Json::word_after() const {
  switch (tag()) {
    case '{':
    case '[':
      return static_cast<uint32_t>(word());
    case 'l':
    case 'u':
    case 'd':
      return word_ + 2;
    default:
      return word_ + 1;
  }
}

inline std::optional<bool> Json::as_bool() const {
  if (tag() == 't' || tag() == 'f') {
    return tag() == 't';
  }
  return std::nullopt;
}

inline std::optional<std::string_view> Json::as_string() const {
  if (tag() != '"') {
    return std::nullopt;
  }
  const uint8_t* at = tape_->strings + (word() & 0x00ff'ffff'ffff'ffffull);
  uint32_t size = 0;
  std::memcpy(&size, at, sizeof size);
  return std::string_view(reinterpret_cast<const char*>(at + sizeof size), size);
}

inline Json::Members Json::members() const {
  if (!is_object()) {
    return {};
  }
  return {{Json(tape_, word_ + 1, token_ + 1)}, {Json(tape_, word_after() - 1, 0)}};
}

inline Json::Elements Json::elements() const {
  if (tag() != '[') {
    return {};
  }
  return {{Json(tape_, word_ + 1, token_ + 1)}, {Json(tape_, word_after() - 1, 0)}};
}

inline size_t Json::size(size_t max) const {
  size_t count = 0;
  for (auto at = members().begin(); count < max && at != members().end(); ++at) {
    ++count;
  }
  for (auto at = elements().begin(); count < max && at != elements().end(); ++at) {
    ++count;
  }
  return count;
}

}  // namespace parley::lib
