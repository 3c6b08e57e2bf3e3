// SPDX-License-Identifier: Apache-2.0
#include "dialect/foreign.h"

#include <array>

#include "dialect/reading.h"
#include "dialect/words.h"

namespace parley::dialect {

namespace {

using base::Code;
using base::Error;
using lib::Json;
using lib::JsonKind;

struct TextMember {
  std::string_view key;
  std::string_view Foreign::* member;
};

constexpr auto texts = std::to_array<TextMember>({{"dialect", &Foreign::dialect},
                                                  {"type", &Foreign::type},
                                                  {"id", &Foreign::id},
                                                  {"in_reply_to", &Foreign::in_reply_to},
                                                  {"reply_to", &Foreign::reply_to},
                                                  {"thread", &Foreign::thread},
                                                  {"correlation", &Foreign::correlation},
                                                  {"causation", &Foreign::causation},
                                                  {"session", &Foreign::session},
                                                  {"action", &Foreign::action},
                                                  {"subject", &Foreign::subject},
                                                  {"task", &Foreign::task}});

// Reads the members one by one; false when `error` says why not.
class ForeignReader {
 public:
  explicit ForeignReader(std::string_view pointer) : pointer_(pointer) {}

  bool read(std::string_view key, Json value) {
    for (const TextMember& text : texts) {
      if (text.key == key) {
        return read_text(key, value, foreign.*text.member);
      }
    }
    if (key == "status") {
      return read_word(key, value, statuses, foreign.status);
    }
    if (key == "content_type") {
      return read_word(key, value, content_types, foreign.content_type);
    }
    if (key == "on_timeout") {
      return read_word(key, value, timeout_actions, foreign.on_timeout);
    }
    if (key == "priority") {
      return read_word(key, value, priorities, foreign.priority);
    }
    if (key == "ttl") {
      return read_duration(key, value, foreign.ttl);
    }
    if (key == "response_timeout") {
      return read_duration(key, value, foreign.response_timeout);
    }
    if (key == "requires_ack") {
      return read_flag(key, value, foreign.requires_ack);
    }
    if (key == "wrapped") {
      std::optional<bool> wrapped;
      const bool good = read_flag(key, value, wrapped);
      foreign.wrapped = wrapped.value_or(false);
      return good;
    }
    if (key == "sequence_number") {
      const auto number = value.as_int64();
      foreign.sequence_number = number && *number > 0 ? static_cast<uint64_t>(*number) : 0;
      return (number && *number >= 0) || wrong(key, "an integer from 0 to 2^63-1", value);
    }
    if (key == "confidence") {
      return read_confidence(key, value);
    }
    if (key == "receivers") {
      return read_receivers(key, value);
    }
    return key != "extra" || value.is_object() || wrong(key, "an object", value);
  }

  Foreign foreign;
  Error error;

 private:
  bool wrong(std::string_view key, std::string_view wanted, Json found) {
    error = Error{
        Code::validation_failed,
        std::string(key).append(": wanted ").append(wanted).append(", found ") + describe(found),
        std::string(pointer_).append("/").append(key)};
    return false;
  }

  bool read_text(std::string_view key, Json value, std::string_view& out) {
    const auto text = value.as_string();
    out = text.value_or("");
    return !out.empty() || wrong(key, "a string that is not empty", value);
  }

  bool read_flag(std::string_view key, Json value, std::optional<bool>& out) {
    out = value.as_bool();
    return out || wrong(key, "true or false", value);
  }

  template <class T, size_t n>
  bool read_word(std::string_view key, Json value, const std::array<Word<T>, n>& words,
                 std::optional<T>& out) {
    const auto text = value.as_string();
    const auto* word = text ? find_word(words, *text) : nullptr;
    if (word == nullptr) {
      return wrong(key, one_of(words), value);
    }
    out = word->value;
    return true;
  }

  bool read_duration(std::string_view key, Json value, base::Duration& out) {
    const auto text = value.as_string();
    const auto duration = text ? parse_any_duration(*text) : std::nullopt;
    if (!duration || duration->us == 0) {
      return wrong(key, "a duration of more than zero such as \"30s\" or \"PT5M\"", value);
    }
    out = *duration;
    return true;
  }

  bool read_confidence(std::string_view key, Json value) {
    const auto number = value.as_double();
    if (!number || !(*number >= 0 && *number <= 1)) {
      return wrong(key, "a number from 0 to 1", value);
    }
    foreign.confidence_ppm = static_cast<int32_t>(*number * 1e6 + 0.5);
    return true;
  }

  bool read_receivers(std::string_view key, Json value) {
    bool good = value.kind() == JsonKind::array;
    for (const Json element : value.elements()) {
      const auto name = element.as_string();
      good = good && name && !name->empty();
      if (good) {
        foreign.receivers.push_back(*name);
      }
    }
    return good || wrong(key, "an array of names", value);
  }

  std::string_view pointer_;
};

}  // namespace

std::expected<Foreign, Error> read_foreign(Json value, std::string_view pointer) {
  if (!value.is_object()) {
    return std::unexpected(Error{Code::validation_failed,
                                 "foreign: wanted an object, found " + describe(value),
                                 std::string(pointer)});
  }
  ForeignReader reader(pointer);
  for (const lib::JsonMember& member : value.members()) {
    if (!member.value.is_null() && !reader.read(member.key, member.value)) {
      return std::unexpected(std::move(reader.error));
    }
  }
  return std::move(reader.foreign);
}

void begin_foreign(const core::Envelope& e, lib::JsonWriter& out) {
  const auto text = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) {
      out.key(key).text(value);
    }
  };
  text("dialect", name_of(e.dialect));
  text("type", e.type);
  out.key("id");
  e.native_id.empty() ? out.uuid(e.id) : out.text(e.native_id);
  text("subject", e.subject);
  text("task", e.task);
  if (e.confidence_ppm >= 0) {
    out.key("confidence").real(e.confidence_ppm / 1e6);
  }
}

bool is_id_of(std::string_view name, const base::MessageId& id, std::string_view sender,
              Derive derive) {
  return !name.empty() && (uuid_of(name) == id || message_id_of(derive, sender, name) == id);
}

std::optional<SentBefore> sent_before(const core::Envelope& e, core::Dialect own) {
  std::string_view foreign;
  lib::JsonSlice slice;
  for (lib::JsonSlices slices(e.extra); slices.next(slice);) {
    foreign = slice.key == foreign_key(e.dialect) ? slice.value : foreign;
  }
  if (foreign.empty()) {
    return std::nullopt;
  }
  std::string wanted_dialect;
  std::string wanted_id;
  lib::append_json_string(wanted_dialect, name_of(own));
  lib::append_json_string(wanted_id, id_in(own, e));
  SentBefore before;
  bool right_dialect = false;
  bool right_id = false;
  for (lib::JsonSlices slices(foreign); slices.next(slice);) {
    right_dialect = right_dialect || (slice.key == "\"dialect\"" && slice.value == wanted_dialect);
    right_id = right_id || (slice.key == "\"id\"" && slice.value == wanted_id);
    before.extra = slice.key == "\"extra\"" ? slice.value : before.extra;
    if (slice.key == "\"type\"" && slice.value.size() > 2) {
      before.type = slice.value.substr(1, slice.value.size() - 2);
    }
  }
  return right_dialect && right_id ? std::optional(before) : std::nullopt;
}

void write_extra(std::string_view extra, std::string_view left_out, lib::JsonWriter& out) {
  if (left_out.empty()) {
    if (!extra.empty()) {
      out.key("extra").raw(extra);
    }
    return;
  }
  bool begun = false;
  lib::JsonSlice slice;
  for (lib::JsonSlices slices(extra); slices.next(slice);) {
    if (slice.key == left_out) {
      continue;
    }
    if (!begun) {
      out.key("extra").object();
      begun = true;
    }
    out.raw_key(slice.key).raw(slice.value);
  }
  if (begun) {
    out.end_object();
  }
}

}  // namespace parley::dialect
