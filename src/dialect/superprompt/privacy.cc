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

// The same as `letters_of(key) == word`. Of each member of each message it is asked.
bool is_word(std::string_view key, std::string_view word) {
  size_t at = 0;
  for (const char c : key) {
    const char low = base::to_lower(c);
    if ((low >= 'a' && low <= 'z') || (low >= '0' && low <= '9')) {
      if (at == word.size() || low != word[at]) {
        return false;
      }
      ++at;
    }
  }
  return at == word.size();
}

bool is_concern(const lib::JsonMember& member) { return is_word(member.key, "cocconcern"); }

// Whether the member says that there is one.
bool says_concern(Json value) {
  return !value.is_null() && value.as_bool() != false && value.as_string() != std::string_view();
}

// Where the concern is no member of its object, in an array or a text: all of it is kept apart.
bool may_have_concern(const lib::JsonMember& member) {
  return is_word(member.key, "flags") && !member.value.is_object() &&
         letters_of(member.value.raw()).find("cocconcern") != std::string::npos;
}

// Whether the object itself says that it is a flag, wherever it stands.
bool says_it_is_flag(const lib::JsonMember& member) {
  const bool names_type = is_word(member.key, "messagetype") || is_word(member.key, "type") ||
                          is_word(member.key, "privacylevel");
  return names_type && says_private(member.value);
}

// By what it says it is, wherever that is said twice or in another spelling; or by what is in it,
// where it says nothing that is known.
bool may_be_flag(Json message) {
  bool is_other = false;
  bool has_violation = false;
  bool has_concern = false;
  for (const lib::JsonMember& member : message.members()) {
    if (is_word(member.key, "messagetype") || is_word(member.key, "type")) {
      const auto* const word = find_word(types, member.value.as_string().value_or(""));
      is_other = is_other || (word != nullptr && word->value != Type::flag);
    }
    if (says_it_is_flag(member)) {
      return true;
    }
    has_violation = has_violation || is_word(member.key, "violation") ||
                    is_word(member.key, "violationtype");
    has_concern = has_concern || may_have_concern(member);
    // Of a message of another type the concern is set apart, and the rest is none.
    if (!is_word(member.key, "flags")) {
      continue;
    }
    for (const lib::JsonMember& each : member.value.members()) {
      has_concern = has_concern || (is_concern(each) && says_concern(each.value));
    }
  }
  return (has_violation || has_concern) && !is_other;
}

std::string_view word_in(Json object, std::string_view key) {
  const auto text = object.find(key).as_string();
  return text && !text->empty() ? base::cut(*text, word_bytes_max) : "unknown";
}

std::string summary_of(Json object) {
  const Json violation = object.find("violation");
  std::string summary = "severity: ";
  summary.append(word_in(violation, "severity")).append(", violation_type: ");
  summary.append(word_in(violation, "violation_type"));
  return summary;
}

// Reads a message twice: once for what is to be set apart, and, where there is something, once to
// write the rest of it.
class Parting {
 public:
  explicit Parting(bool is_own) : depth_max_(is_own ? 0 : foreign_depth_max) {}

  std::optional<Codec::Apart> run(Json message) {
    const size_t texts = texts_left_;
    look_at(message, 0, nullptr);
    if (!is_found_) {
      return std::nullopt;
    }
    if (apart_.summary.empty()) {
      texts_left_ = texts;
      lib::JsonWriter out(apart_.rest);
      look_at(message, 0, &out);
    }
    return std::move(apart_);
  }

 private:
  static constexpr size_t foreign_depth_max = 8;
  // A body is two or three objects deep. One that says deeper what it is is an example in a text
  // about flags, and no flag.
  static constexpr size_t flag_depth_max = 3;
  static constexpr size_t texts_max = 16;  // that are read as JSON; one inside another is not

  void look_at(Json value, size_t depth, lib::JsonWriter* out) {
    if (value.is_object()) {
      look_at_object(value, depth, out);
    } else if (value.kind() == lib::JsonKind::array && depth < depth_max_) {
      if (out != nullptr) {
        out->array();
      }
      for (const Json element : value.elements()) {
        look_at(element, depth + 1, out);
      }
      if (out != nullptr) {
        out->end_array();
      }
    } else if (!look_at_text(value, depth, out) && out != nullptr) {
      out->raw(value.raw());
    }
  }

  void look_at_object(Json object, size_t depth, lib::JsonWriter* out) {
    if (out != nullptr) {
      out->object();
    }
    for (const lib::JsonMember& member : object.members()) {
      if (depth > 0 && depth <= std::min(flag_depth_max, depth_max_) && member.value.as_string() &&
          says_it_is_flag(member)) {
        is_found_ = true;
        apart_.is_flag = true;
        apart_.summary = summary_of(object);
      }
      if (may_have_concern(member)) {
        is_found_ = true;
        apart_.is_flag = true;
        continue;
      }
      if (out != nullptr) {
        out->key(member.key);
      }
      if (is_word(member.key, "flags") && member.value.is_object()) {
        look_at_flags(member.value, out);
      } else if (depth < depth_max_) {
        look_at(member.value, depth + 1, out);
      } else if (out != nullptr) {
        out->raw(member.value.raw());
      }
    }
    if (out != nullptr) {
      out->end_object();
    }
  }

  void look_at_flags(Json flags, lib::JsonWriter* out) {
    if (out != nullptr) {
      out->object();
    }
    for (const lib::JsonMember& each : flags.members()) {
      if (is_concern(each)) {
        is_found_ = true;
        apart_.is_flag = apart_.is_flag || says_concern(each.value);
      } else if (out != nullptr) {
        out->key(each.key).raw(each.value.raw());
      }
    }
    if (out != nullptr) {
      out->end_object();
    }
  }

  // A text that is an object of JSON is read, too: agents of some dialects write their results so.
  // False: it is none, or has nothing to be set apart.
  bool look_at_text(Json value, size_t depth, lib::JsonWriter* out) {
    const auto text = value.as_string();
    if (!text || depth >= depth_max_ || texts_left_ == 0 || !begins_object(*text)) {
      return false;
    }
    --texts_left_;
    lib::JsonDocument document;
    const auto inner = document.parse(*text);
    const auto found = inner ? run_text(*inner, depth) : std::nullopt;
    if (!found) {
      return false;
    }
    is_found_ = true;
    apart_.is_flag = apart_.is_flag || found->is_flag;
    apart_.summary = found->summary.empty() ? apart_.summary : found->summary;
    if (out != nullptr) {
      out->text(found->rest);
    }
    return true;
  }

  static std::optional<Codec::Apart> run_text(Json message, size_t depth) {
    for (const lib::JsonMember& member : message.members()) {
      if (depth <= flag_depth_max && member.value.as_string() && says_it_is_flag(member)) {
        return Codec::Apart{.rest = {}, .is_flag = true, .summary = summary_of(message)};
      }
    }
    Parting inner(false);
    inner.texts_left_ = 0;
    return inner.run(message);
  }

  static bool begins_object(std::string_view text) {
    const size_t at = text.find_first_not_of(" \t\r\n");
    return at != std::string_view::npos && text[at] == '{';
  }

  size_t depth_max_;
  size_t texts_left_ = texts_max;
  bool is_found_ = false;
  Codec::Apart apart_;
};

}  // namespace

std::optional<std::string> superprompt_private_summary(std::string_view text, Json message) {
  const bool is_private = message.is_object() ? may_be_flag(message) : has_private_word(text);
  return is_private ? std::optional(summary_of(message)) : std::nullopt;
}

std::optional<Codec::Apart> superprompt_set_apart(Json message, bool is_own) {
  return message.is_object() ? Parting(is_own).run(message) : std::nullopt;
}

}  // namespace parley::dialect
