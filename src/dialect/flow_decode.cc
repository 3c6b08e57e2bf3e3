// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bitset>
#include <optional>
#include <span>

#include "base/check.h"
#include "dialect/flow.h"
#include "dialect/flow_fields.h"
#include "dialect/foreign.h"
#include "dialect/iso8601.h"
#include "dialect/reading.h"
#include "dialect/tracing.h"
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

// `domain.event_type`: two or more words of letters, digits, `_` and `-`; or `topic:` and a name.
bool is_topic(std::string_view name) {
  if (name.starts_with(topic_prefix)) {
    return name.size() > topic_prefix.size();
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
                      read_times() && read_answers() && read_rest() && read_foreign_member();
    if (!good) {
      return std::unexpected(std::move(error_));
    }
    const KeptTrace kept =
        read_trace(given(Field::traceparent), given(Field::tracestate), e_);
    if (kept.parent) {
      keep(Field::traceparent);
    }
    if (kept.state) {
      keep(Field::tracestate);
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
  bool read_foreign_member();
  void unwrap_body();
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
    if (!is_canonical_time(*text)) {
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
    e_.idempotency_key = key_of(context_.derive, text);
    keep(Field::idempotency_key);
  }
  return true;
}

// What flow has no member for. The id and the receivers are its own only if they are of this very
// message, which went through flow and comes back.
bool Decoder::read_foreign_member() {
  const auto at = std::ranges::find_if(unknown_, [](const Unknown& unknown) {
    return unknown.part == Part::metadata && unknown.key == "foreign";
  });
  if (at == unknown_.end() || at->value.is_null()) {
    return true;
  }
  auto foreign = read_foreign(at->value, "/metadata/foreign");
  if (!foreign) {
    error_ = std::move(foreign.error());
    return false;
  }
  e_.reply_to = foreign->reply_to;
  e_.causation = foreign->causation;
  e_.session = foreign->session;
  e_.action = foreign->action;
  e_.subject = foreign->subject;
  e_.task = foreign->task;
  e_.confidence_ppm = foreign->confidence_ppm;
  e_.question = e_.in_reply_to.is_none() ? std::string_view{} : foreign->in_reply_to;
  if (foreign->wrapped) {
    unwrap_body();
  }
  if (is_id_of(foreign->id, e_.id, e_.sender, context_.derive)) {
    e_.native_id = uuid_of(foreign->id) == e_.id ? std::string_view{} : foreign->id;
    if (foreign->receivers.size() > 1) {
      e_.receivers = std::move(foreign->receivers);
    }
  }
  return true;
}

// `{"value": …}`, or `{}` for a body that is not there, as encode_flow writes it.
void Decoder::unwrap_body() {
  const Json body = found(Field::body);
  const Json value = body.find("value");
  const bool is_wrapped = body.is_object() && value && !value.is_object() &&
                          value.kind() != JsonKind::string;
  size_t members = 0;
  for ([[maybe_unused]] const lib::JsonMember& member : body.members()) {
    ++members;
  }
  if (is_wrapped && members == 1) {
    e_.body = value.raw();
  }
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

// A UUID, or the id in the form in which its sender wrote it.
bool Decoder::read_in_reply_to(Field field, base::Id128& out) {
  const Json value = given(field);
  const auto text = value ? value.as_string() : std::nullopt;
  if (text && !text->empty() && !base::parse_uuid(*text) && context_.lookup != nullptr) {
    const auto found = context_.lookup->find_received(*text, e_.receivers);
    if (found) {
      out = *found;
      keep(field);
      return true;
    }
    return fail(found.error().code, std::string(info(field).name) + ": " + found.error().detail,
                info(field).pointer);
  }
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
  const auto duration = parse_any_duration(*text);
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
  const auto* word = text ? find_word(words, *text) : nullptr;
  if (word == nullptr) {
    return wrong(field, one_of(words));
  }
  out = word->value;
  return true;
}

}  // namespace

std::expected<Envelope, Error> decode_flow(lib::Json message, const DecodeContext& context,
                                           Texts& texts) {
  CHECK(context.derive != nullptr);
  return Decoder(context, texts).run(message);
}

}  // namespace parley::dialect
