// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"

namespace parley::lib {

// Appends JSON to a string of the caller's, without spaces. Sets the commas; that the calls make a
// value (a key before each member, each object ended) is up to the caller.
//
//   JsonWriter(out).object().key("id").uuid(id).key("count").number(3).end_object();
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& object();
  JsonWriter& end_object();
  JsonWriter& array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD, so that what comes out is JSON whatever goes in.
  JsonWriter& text(std::string_view value);
  JsonWriter& number(int64_t value);
  JsonWriter& number(uint64_t value);
  JsonWriter& number(int value) { return number(int64_t{value}); }
  JsonWriter& number(unsigned value) { return number(uint64_t{value}); }
  JsonWriter& real(double value);  // the shortest form; null for what JSON cannot say
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& time(base::Time value);          // as base::format_time
  JsonWriter& duration(base::Duration value);  // as base::format_duration
  JsonWriter& uuid(const base::Id128& value);

  // Text in which nothing needs an escape: a word, a UUID, a time.
  JsonWriter& plain(std::string_view value);

  // Text that is JSON already: a value, or a key with its quotes.
  JsonWriter& raw(std::string_view value);
  JsonWriter& raw_key(std::string_view quoted);

 private:
  // Before a value, and after one.
  void begin();
  JsonWriter& done();

  std::string& out_;
  bool comma_ = false;
};

// Appends `text` in quotes, escaped.
void append_json_string(std::string& out, std::string_view text);

// The same for people to read: what cannot be seen, or turns the direction of writing, is escaped,
// too. It means the same.
void append_visible_json_string(std::string& out, std::string_view text);

// One member of an object's text, as it is there: the key with its quotes.
struct JsonSlice {
  std::string_view key;
  std::string_view value;
};

// Walks the members of an object's text without reading it as a whole, for texts that we wrote
// ourselves. Safe on any bytes, but finds the right slices only in JSON.
class JsonSlices {
 public:
  explicit JsonSlices(std::string_view object);

  // False at the end, and at what is no member.
  bool next(JsonSlice& slice);

 private:
  std::string_view rest_;
};

}  // namespace parley::lib
