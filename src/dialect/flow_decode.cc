// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bitset>
#include <optional>
#include <span>

#include "base/check.h"
#include "dialect/flow.h"
#include "dialect/flow_fields.h"
#include "dialect/iso8601.h"
#include "lib/json_writer.h"

namespace parley::dialect {

namespace {

using namespace flow;
using base::Code;
using core::ContentType;
using core::Kind;
using core::Status;
using lib::Json;
using lib::JsonKind;

constexpr size_t quoted_bytes_max = 60;

// What is there, for an error: short, and cut between characters.
std::string describe(Json value) {
  switch (value.kind()) {
    case JsonKind::object:
      return "an object";
    case JsonKind::array:
      return "an array";
    case JsonKind::null:
    case JsonKind::boolean:
    case JsonKind::number:
    case JsonKind::string:
      break;
  }
  std::string_view raw = value.raw();
  if (raw.size() <= quoted_bytes_max) {
    return std::string(raw);
  }
  size_t end = quoted_bytes_max;
  while ((static_cast<uint8_t>(raw[end]) & 0xc0) == 0x80) {
    --end;
  }
  return std::string(raw.substr(0, end)).append("... (").append(std::to_string(raw.size())) +
         " bytes)";
}

// `/` and the key, escaped as a JSON pointer wants it.
std::string pointer_step(std::string_view key) {
  std::string step = "/";
  for (const char c : key) {
    c == '~' ? step.append("~0") : c == '/' ? step.append("~1") : step.append(1, c);
  }
  return step;
}

template <class T, size_t n>
std::string one_of(const std::array<Word<T>, n>& words) {
  std::string text = "one of ";
  for (const Word<T>& word : words) {
    text.append(&word == &words.front() ? "" : ", ").append(word.text);
  }
  return text;
}

bool is_version_4(const base::Id128& id) { return id.bytes[6] >> 4 == 4 && id.bytes[8] >> 6 == 2; }

bool has_upper_case(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'F'; });
}

// `domain.event_type`: two or more words of letters, digits, `_` and `-`; or `topic:` and a name.
bool is_topic(std::string_view name) {
  constexpr std::string_view prefix = "topic:";
  if (name.starts_with(prefix)) {
    return name.size() > prefix.size();
  }
  size_t words = 0;
  bool in_word = false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!letter && (c != '.' || !in_word)) {
      return false;
    }
    words += letter && !in_word ? 1 : 0;
    in_word = letter;
  }
  return words >= 2 && in_word;
}

// One message on its way in. Each step returns false when it has set the error.
class Decoder {
 public:
  Decoder(const DecodeContext& context, Texts& texts) : context_(context), texts_(texts) {}

  std::expected<Envelope, Error> run(Json message) {
    if (!message.is_object()) {
      return std::unexpected(
          Error{Code::bad_request, "a message is a JSON object, found " + describe(message), {}});
    }
    const bool good = collect(Part::message, message) && collect_parts() && unknown_once() &&
                      read_ids() && read_words() && read_people() && read_payload() &&
                      read_times() && read_answers() && read_rest();
    if (!good) {
      return std::unexpected(std::move(error_));
    }
    keep_the_rest();
    return std::move(e_);
  }

 private:
  struct Unknown {
    Part part;
    std::string_view key;
    Json value;
  };

  bool fail(Code code, std::string detail, std::string_view pointer) {
    error_ = Error{code, std::move(detail), std::string(pointer)};
    return false;
  }

  bool wrong(Field field, std::string_view wanted, std::string_view advice = {}) {
    std::string detail = std::string(info(field).name) + ": wanted ";
    detail.append(wanted).append(", found ");
    detail.append(found(field) ? describe(found(field)) : "nothing");
    if (!advice.empty()) {
      detail.append("; ").append(advice);
    }
    return fail(Code::validation_failed, std::move(detail), info(field).pointer);
  }

  Json& found(Field field) { return found_[static_cast<size_t>(field)]; }

  // The member where it says something; null is remembered and counts as left out.
  Json given(Field field) {
    const Json value = found(field);
    if (value && value.is_null()) {
      keep(field);
      return {};
    }
    return value;
  }

  // Remembers that `field` must come back as it was written.
  void keep(Field field) { kept_.set(static_cast<size_t>(field)); }

  // True when a required member is there. In lenient mode it may also be missing: then `value` is
  // no value.
  bool require(Field field, bool may_be_filled_in, std::string_view wanted, Json& value) {
    value = found(field);
    if (value && !value.is_null()) [[likely]] {
      return true;
    }
    if (may_be_filled_in && context_.lenient) {
      value = {};
      return true;
    }
    return wrong(field, wanted, "it is required");
  }

  bool collect(Part part, Json object);
  bool collect_parts();
  bool unknown_once();

  bool read_ids();
  bool read_words();
  bool read_people();
  bool read_payload();
  bool read_times();
  bool read_answers();
  bool read_rest();
  void keep_the_rest();

  bool read_text(Field field, Json value, size_t bytes_max, std::string_view& out);
  bool read_uuid(Field field, Json value, base::Id128& out);
  bool read_duration(Field field, base::Duration& out);
  bool read_in_reply_to(Field field, base::Id128& out);
  bool read_flag(Field field, std::optional<bool>& out);
  template <class T, size_t n>
  bool read_word(Field field, Json value, const std::array<Word<T>, n>& words, T& out);

  const DecodeContext& context_;
  Texts& texts_;
  Envelope e_;
  Error error_;
  std::array<Json, field_count> found_{};
  std::bitset<field_count> kept_;
  std::vector<Unknown> unknown_;
};

bool Decoder::collect(Part part, Json object) {
  const std::span<const FieldInfo> all = fields_of(part);
  for (const lib::JsonMember& member : object.members()) {
    // Most names differ in their size or first letter: no call to compare the rest.
    const auto known = std::ranges::find_if(all, [&](const FieldInfo& field) {
      return field.name.size() == member.key.size() && field.name[0] == member.key[0] &&
             field.name == member.key;
    });
    if (known == all.end()) {
      unknown_.push_back({part, member.key, member.value});
      continue;
    }
    if (found(known->field)) {
      return fail(Code::validation_failed,
                  std::string(known->name) + ": the member is there twice; leave one out",
                  known->pointer);
    }
    found(known->field) = member.value;
  }
  return true;
}

bool Decoder::collect_parts() {
  Json payload;
  Json metadata;
  if (!require(Field::payload, false, "an object with content_type and body", payload) ||
      !require(Field::metadata, true, "an object with timestamp", metadata)) {
    return false;
  }
  if (!payload.is_object()) {
    return wrong(Field::payload, "an object with content_type and body");
  }
  if (payload.raw().size() > flow_payload_bytes_max) {
    return fail(Code::payload_too_large,
                "payload: at most " + std::to_string(flow_payload_bytes_max) +
                    " bytes are taken, found " + std::to_string(payload.raw().size()) +
                    "; send an artifact_ref instead",
                info(Field::payload).pointer);
  }
  if (metadata && !metadata.is_object()) {
    return wrong(Field::metadata, "an object with timestamp");
  }
  return collect(Part::payload, payload) && (!metadata || collect(Part::metadata, metadata));
}

bool Decoder::unknown_once() {
  if (unknown_.size() < 2) {
    return true;
  }
  std::vector<std::pair<Part, std::string_view>> keys;
  for (const Unknown& unknown : unknown_) {
    keys.emplace_back(unknown.part, unknown.key);
  }
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  if (twice == keys.end()) {
    return true;
  }
  return fail(Code::validation_failed, "a member is there twice; leave one out",
              std::string(pointer_to(twice->first)) + pointer_step(twice->second));
}

bool Decoder::read_ids() {
  Json id;
  Json thread;
  if (!require(Field::id, true, "a UUID of version 4", id) ||
      !require(Field::conversation_id, true, "a string", thread)) {
    return false;
  }
  e_.id = context_.fallback_id;
  if (id) {
    if (!read_uuid(Field::id, id, e_.id)) {
      return false;
    }
    if (!is_version_4(e_.id)) {
      return wrong(Field::id, "a UUID of version 4");
    }
  }
  return !thread || read_text(Field::conversation_id, thread, flow_text_bytes_max, e_.thread);
}

bool Decoder::read_words() {
  Json type;
  if (!require(Field::type, false, "a word such as request", type) ||
      !read_word(Field::type, type, types, e_.kind) ||
      !read_word(Field::priority, given(Field::priority), priorities, e_.priority) ||
      !read_word(Field::on_timeout, given(Field::on_timeout), timeout_actions, e_.on_timeout)) {
    return false;
  }
  e_.type = word_for(types, e_.kind);
  if (found(Field::on_timeout) && !asks(e_.kind) && e_.on_timeout == core::OnTimeout::fail) {
    keep(Field::on_timeout);  // encode writes the default only where something can time out
  }
  const Json status = given(Field::status);
  if (e_.kind != Kind::response) {
    return !status || wrong(Field::status, "no status in a " + std::string(e_.type),
                            "only a response has one");
  }
  e_.status = Status::success;
  return read_word(Field::status, status, statuses, e_.status);
}

bool Decoder::read_people() {
  Json sender;
  Json receiver;
  if (!require(Field::sender, true, "the agent's id", sender) ||
      !require(Field::receiver, false, "an agent's id, a topic or \"*\"", receiver)) {
    return false;
  }
  e_.sender = context_.sender;
  if (sender) {
    const auto name = sender.as_string();
    if (!name) {
      return wrong(Field::sender, "the agent's id, a string");
    }
    if (*name != context_.sender) {
      return fail(Code::sender_mismatch,
                  "sender: wanted \"" + std::string(context_.sender) +
                      "\", the principal of the token, found " + describe(sender),
                  info(Field::sender).pointer);
    }
  }
  std::string_view name;
  if (!read_text(Field::receiver, receiver, flow_text_bytes_max, name)) {
    return false;
  }
  if (name == everyone_in_words) {
    keep(Field::receiver);
    name = everyone;
  }
  e_.receivers.push_back(name);
  if (e_.kind == Kind::broadcast && name != everyone && !is_topic(name)) {
    return wrong(Field::receiver, "a topic such as \"task.status_changed\", or \"*\" for everyone",
                 "send a notification to reach one agent");
  }
  return true;
}

bool Decoder::read_payload() {
  Json body;
  if (!require(Field::body, false, "an object, or a string for text", body)) {
    return false;
  }
  const bool is_text = body.kind() == JsonKind::string;
  if (!is_text && !body.is_object()) {
    return wrong(Field::body, "an object, or a string for text");
  }
  e_.content_type = is_text ? ContentType::text : ContentType::json;
  if (!read_word(Field::content_type, given(Field::content_type), content_types, e_.content_type)) {
    return false;
  }
  if (is_text && e_.content_type != ContentType::text) {
    return wrong(Field::body, "an object", "only text may be a string: set content_type to text");
  }
  e_.body = body.raw();
  return true;
}

bool Decoder::read_times() {
  Json timestamp;
  constexpr std::string_view wanted = "a time in UTC such as \"2026-11-15T21:06:53.042Z\"";
  if (!require(Field::timestamp, true, wanted, timestamp)) {
    return false;
  }
  e_.created = context_.received;
  if (timestamp) {
    const auto text = timestamp.as_string();
    const auto time = text ? parse_time(*text) : std::nullopt;
    if (!time) {
      return wrong(Field::timestamp, wanted, "the offset is Z or +00:00, and the date must exist");
    }
    e_.created = *time;
    constexpr size_t canonical_size = 24;  // milliseconds and Z
    if (text->size() != canonical_size || !text->ends_with('Z')) {
      keep(Field::timestamp);
    }
  }
  return read_duration(Field::ttl, e_.ttl) &&
         read_duration(Field::response_timeout, e_.response_timeout);
}

bool Decoder::read_answers() {
  base::Id128 outer;
  if (!read_in_reply_to(Field::in_reply_to, e_.in_reply_to) ||
      !read_in_reply_to(Field::outer_in_reply_to, outer)) {
    return false;
  }
  if (!outer.is_none()) {
    if (!e_.in_reply_to.is_none() && e_.in_reply_to != outer) {
      return wrong(Field::outer_in_reply_to, "what /metadata/in_reply_to says",
                   "leave the one outside of metadata out");
    }
    // Both spellings come back when both were there.
    keep(Field::outer_in_reply_to);
    if (found(Field::in_reply_to)) {
      keep(Field::in_reply_to);
    }
    e_.in_reply_to = outer;
  }
  if (e_.kind == Kind::response && e_.in_reply_to.is_none()) {
    return wrong(Field::in_reply_to, "the id of the message that this one answers",
                 "a response requires it");
  }
  return true;
}

bool Decoder::read_rest() {
  std::optional<bool> inner;
  std::optional<bool> outer;
  if (!read_flag(Field::requires_ack, inner) || !read_flag(Field::outer_requires_ack, outer)) {
    return false;
  }
  if (outer) {
    if (inner && *inner != *outer) {
      return wrong(Field::outer_requires_ack, "what /metadata/requires_ack says",
                   "leave the one outside of metadata out");
    }
    keep(Field::outer_requires_ack);
    if (inner) {
      keep(Field::requires_ack);
    }
  }
  e_.requires_ack = inner.value_or(outer.value_or(asks(e_.kind)));
  if (e_.receivers.front() == everyone && !e_.requires_ack) {
    e_.durability = core::Durability::memory;
  }
  if (const Json number = given(Field::sequence_number)) {
    const auto value = number.as_int64();
    if (!value || *value < 0) {
      return wrong(Field::sequence_number, "an integer from 0 to 2^63-1",
                   "or leave it to the broker");
    }
    e_.sequence_number = static_cast<uint64_t>(*value);
    if (*value == 0) {
      keep(Field::sequence_number);
    }
  }
  if (const Json correlation = given(Field::correlation_id)) {
    if (!read_text(Field::correlation_id, correlation, flow_text_bytes_max, e_.correlation)) {
      return false;
    }
  }
  if (const Json key = given(Field::idempotency_key)) {
    std::string_view text;
    if (!read_text(Field::idempotency_key, key, flow_key_bytes_max, text)) {
      return false;
    }
    e_.idempotency_key = context_.key_hash(text);
    keep(Field::idempotency_key);
  }
  return true;
}

void Decoder::keep_the_rest() {
  if (kept_.none() && unknown_.empty()) {
    return;
  }
  std::string& extra = texts_.emplace_back();
  lib::JsonWriter out(extra);
  out.object();
  for (const FieldInfo& field : fields) {
    if (kept_.test(static_cast<size_t>(field.field))) {
      const Json value = found(field.field);
      out.key(field.pointer);
      // Written anew, so that the same text always gives the same bytes.
      const auto text = value.as_string();
      text ? out.text(*text) : out.raw(value.raw());
    }
  }
  for (const Part part : {Part::message, Part::payload, Part::metadata}) {
    for (const Unknown& unknown : unknown_) {
      if (unknown.part == part) {
        out.key(std::string(pointer_to(part)) + pointer_step(unknown.key));
        out.raw(unknown.value.raw());
      }
    }
  }
  out.end_object();
  e_.extra = extra;
}

bool Decoder::read_text(Field field, Json value, size_t bytes_max, std::string_view& out) {
  const auto text = value.as_string();
  if (!text || text->empty() || text->size() > bytes_max) {
    return wrong(field, "a string of 1 to " + std::to_string(bytes_max) + " bytes");
  }
  out = *text;
  return true;
}

bool Decoder::read_uuid(Field field, Json value, base::Id128& out) {
  const auto text = value.as_string();
  const auto id = text ? base::parse_uuid(*text) : std::nullopt;
  if (!id || id->is_none()) {
    return wrong(field, "a UUID such as \"f47ac10b-58cc-4372-a567-0e02b2c3d479\"");
  }
  out = *id;
  if (has_upper_case(*text)) {
    keep(field);
  }
  return true;
}

bool Decoder::read_in_reply_to(Field field, base::Id128& out) {
  const Json value = given(field);
  return !value || read_uuid(field, value, out);
}

bool Decoder::read_duration(Field field, base::Duration& out) {
  const Json value = given(field);
  if (!value) {
    return true;
  }
  constexpr std::string_view wanted = "a duration such as \"30s\", \"5m\", \"72h\" or \"PT5M\"";
  const auto text = value.as_string();
  if (!text) {
    return value.kind() == JsonKind::number
               ? wrong(field, wanted, "a number has no unit: write it with one, in quotes")
               : wrong(field, wanted);
  }
  const auto duration =
      text->starts_with('P') ? parse_iso_duration(*text) : base::parse_duration(*text);
  if (!duration) {
    return wrong(field, wanted, "the units are ms, s, m and h, or weeks to seconds as in ISO 8601");
  }
  if (duration->us == 0) {
    return wrong(field, "a duration of more than zero", "leave it out for the default");
  }
  out = *duration;
  if (base::format_duration(out) != *text) {
    keep(field);
  }
  return true;
}

bool Decoder::read_flag(Field field, std::optional<bool>& out) {
  const Json value = given(field);
  if (!value) {
    return true;
  }
  out = value.as_bool();
  return out || wrong(field, "true or false");
}

template <class T, size_t n>
bool Decoder::read_word(Field field, Json value, const std::array<Word<T>, n>& words, T& out) {
  if (!value) {
    return true;
  }
  const auto text = value.as_string();
  const auto* word = text ? std::ranges::find(words, *text, &Word<T>::text) : words.end();
  if (word == words.end()) {
    return wrong(field, one_of(words));
  }
  out = word->value;
  return true;
}

}  // namespace

std::expected<Envelope, Error> decode_flow(lib::Json message, const DecodeContext& context,
                                           Texts& texts) {
  CHECK(context.key_hash != nullptr);
  return Decoder(context, texts).run(message);
}

}  // namespace parley::dialect
