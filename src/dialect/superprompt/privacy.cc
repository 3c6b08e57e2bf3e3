// SPDX-License-Identifier: Apache-2.0
// Which messages are for moderators alone. A flag must not become public because it is malformed,
// so spelling does not count here, and what may be a flag is treated as one.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "dialect/superprompt/fields.h"
#include "dialect/superprompt/superprompt.h"
#include "lib/json_writer.h"

namespace parley::dialect {

namespace {

using namespace superprompt;
using lib::Json;

constexpr size_t word_bytes_max = 64;
constexpr auto private_words =
    std::to_array<std::string_view>({"cocviolation", "violationflag", "privatetomoderators"});

// Letters and digits alone, in lower case, and the escapes of JSON that stand for ASCII read: so
// `COC violation-flag` and a text with a NUL behind each letter are the same word.
std::string letters_of(std::string_view text) {
  constexpr size_t escape = 6;  // \u005f
  std::string letters;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '\\' && at + escape <= text.size() && base::to_lower(text[at + 1]) == 'u') {
      unsigned unit = 0;
      const char* const end = text.data() + at + escape;
      const auto read = std::from_chars(text.data() + at + 2, end, unit, 16);
      if (read.ec == std::errc{} && read.ptr == end && unit < 0x80) {
        c = static_cast<char>(unit);
        at += escape - 1;
      }
    }
    c = base::to_lower(c);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      letters += c;
    }
  }
  return letters;
}

bool has_private_word(std::string_view text) {
  const std::string letters = letters_of(text);
  return std::ranges::any_of(private_words, [&](std::string_view word) {
    return letters.find(word) != std::string::npos;
  });
}

bool says_private(Json value) {
  const auto text = value.as_string();
  return has_private_word(text ? *text : value.raw());
}

bool is_concern(const lib::JsonMember& member) { return letters_of(member.key) == "cocconcern"; }

// Whether the member says that there is one.
bool says_concern(Json value) {
  return !value.is_null() && value.as_bool() != false && value.as_string() != std::string_view();
}

// Where the concern is no member of its object, in an array or a text: all of it is kept apart.
bool may_have_concern(const lib::JsonMember& member) {
  return letters_of(member.key) == "flags" && !member.value.is_object() &&
         letters_of(member.value.raw()).find("cocconcern") != std::string::npos;
}

// By what it says it is, wherever that is said twice or in another spelling; or by what is in it,
// where it says nothing that is known.
bool may_be_flag(Json message) {
  bool is_other = false;
  bool has_violation = false;
  bool has_concern = false;
  for (const lib::JsonMember& member : message.members()) {
    const std::string key = letters_of(member.key);
    if (key == "messagetype" || key == "type") {
      const auto* const word = find_word(types, member.value.as_string().value_or(""));
      is_other = is_other || (word != nullptr && word->value != Type::flag);
    }
    if ((key == "messagetype" || key == "type" || key == "privacylevel") &&
        says_private(member.value)) {
      return true;
    }
    has_violation = has_violation || key == "violation" || key == "violationtype";
    has_concern = has_concern || may_have_concern(member);
    // Of a message of another type the concern is set apart, and the rest is none.
    for (const lib::JsonMember& each : member.value.members()) {
      has_concern = has_concern || (key == "flags" && is_concern(each) && says_concern(each.value));
    }
  }
  return (has_violation || has_concern) && !is_other;
}

std::string_view word_in(Json object, std::string_view key) {
  const auto text = object.find(key).as_string();
  return text && !text->empty() ? base::cut(*text, word_bytes_max) : "unknown";
}

}  // namespace

std::optional<std::string> superprompt_private_summary(std::string_view text, Json message) {
  const bool is_private = message.is_object() ? may_be_flag(message) : has_private_word(text);
  if (!is_private) {
    return std::nullopt;
  }
  const Json violation = message.find("violation");
  std::string summary = "severity: ";
  summary.append(word_in(violation, "severity")).append(", violation_type: ");
  summary.append(word_in(violation, "violation_type"));
  return summary;
}

std::optional<Codec::Apart> superprompt_set_apart(Json message) {
  Codec::Apart apart;
  bool is_found = false;
  lib::JsonWriter out(apart.rest);
  out.object();
  for (const lib::JsonMember& member : message.members()) {
    if (may_have_concern(member)) {
      is_found = true;
      apart.is_flag = true;
      continue;
    }
    out.key(member.key);
    if (letters_of(member.key) != "flags" || !member.value.is_object()) {
      out.raw(member.value.raw());
      continue;
    }
    out.object();
    for (const lib::JsonMember& each : member.value.members()) {
      if (is_concern(each)) {
        is_found = true;
        apart.is_flag = apart.is_flag || says_concern(each.value);
      } else {
        out.key(each.key).raw(each.value.raw());
      }
    }
    out.end_object();
  }
  out.end_object();
  return is_found ? std::optional(std::move(apart)) : std::nullopt;
}

}  // namespace parley::dialect
