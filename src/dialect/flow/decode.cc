// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/check.h"
#include "dialect/flow/fields.h"
#include "dialect/flow/flow.h"
#include "dialect/foreign.h"
#include "dialect/reading.h"

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

class Decoder : MemberReader {
 public:
  Decoder(const DecodeContext& context, Texts& texts) : MemberReader(members, context, texts) {}

  std::expected<Envelope, Error> run(Json message) {
    if (!message.is_object()) {
      return std::unexpected(
          Error{Code::bad_request, "a message is a JSON object, found " + describe(message), {}});
    }
    const bool good = collect(message) && collect_parts() && unknown_once() && read_ids() &&
                      read_words() && read_people() && read_payload() && read_times() &&
                      read_answers() && read_rest() && read_foreign_member() && check_tokens();
    return finish(good, Field::traceparent, Field::tracestate);
  }

 private:
  bool collect_parts();
  bool read_ids();
  bool read_words();
  bool read_people();
  bool read_payload();
  bool read_times();
  bool read_answers();
  bool read_rest();
  bool read_foreign_member();
  bool check_tokens();
  void unwrap_body();

  bool read_uuid(FieldId field, Json value, base::Id128& out);
  bool read_duration(FieldId field, base::Duration& out);
  bool read_in_reply_to(FieldId field, base::Id128& out);
  bool read_flag(FieldId field, std::optional<bool>& out);
};

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
                fields[Field::payload].pointer);
  }
  if (metadata && !metadata.is_object()) {
    return wrong(Field::metadata, "an object with timestamp");
  }
  return collect(payload, Part::payload) && (!metadata || collect(metadata, Part::metadata));
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
  std::string_view name;
  if (!read_sender(Field::sender, sender) ||
      !read_text(Field::receiver, receiver, flow_text_bytes_max, name)) {
    return false;
  }
  if (name == everyone_in_words) {
    keep(Field::receiver);
    name = everyone;
  }
  e_.receivers.push_back(name);
  if (e_.kind == Kind::broadcast && name != everyone && !is_topic(name)) {
    return wrong(Field::receiver, "a topic such as \"task.status_changed\", or \"*\" for everyone",
                 name.find_first_of("*>") != name.npos ? "patterns are for those who subscribe"
                                                       : "send a notification to reach one agent");
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
  return require(Field::timestamp, true, time_wanted, timestamp) &&
         read_created(Field::timestamp, timestamp) && read_duration(Field::ttl, e_.ttl) &&
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
  const Json value = unknown(Part::metadata, "foreign");
  if (!value || value.is_null()) {
    return true;
  }
  auto foreign = read_foreign(value, "/metadata/foreign");
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
  e_.confidence_ppm = confidence_of(*foreign, e_.kind);
  e_.needs_approval = foreign->needs_approval.value_or(e_.needs_approval);
  e_.is_recoverable = foreign->is_recoverable;
  take_dispute(*foreign, e_);
  e_.question = name_of_answered(*foreign, e_.in_reply_to, context_.derive);
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

// flow_tokens reads them: they are for the broker's books and no part of the envelope.
bool Decoder::check_tokens() {
  const Json tokens = unknown(Part::metadata, "tokens_used");
  return !tokens || tokens.is_null() || tokens.as_uint64() ||
         fail(Code::bad_request,
              "tokens_used is a whole number: what was used since the last report",
              "/metadata/tokens_used");
}

// `{"value": …}`, or `{}` for a body that is not there, as encode_flow writes it.
void Decoder::unwrap_body() {
  const Json body = found(Field::body);
  const Json value = body.find("value");
  const bool is_wrapped =
      body.is_object() && value && !value.is_object() && value.kind() != JsonKind::string;
  if (is_wrapped && body.size(2) == 1) {
    e_.body = value.raw();
  }
}

bool Decoder::read_uuid(FieldId field, Json value, base::Id128& out) {
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
bool Decoder::read_in_reply_to(FieldId field, base::Id128& out) {
  const Json value = given(field);
  const auto text = value ? value.as_string() : std::nullopt;
  if (text && !text->empty() && !base::parse_uuid(*text) && context_.lookup != nullptr) {
    const auto found = context_.lookup->find_received(*text, e_.receivers);
    if (found) {
      out = *found;
      keep(field);
      return true;
    }
    return fail(found.error().code, std::string(fields[field].name) + ": " + found.error().detail,
                fields[field].pointer);
  }
  return !value || read_uuid(field, value, out);
}

bool Decoder::read_duration(FieldId field, base::Duration& out) {
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

bool Decoder::read_flag(FieldId field, std::optional<bool>& out) {
  const Json value = given(field);
  if (!value) {
    return true;
  }
  out = value.as_bool();
  return out || wrong(field, "true or false");
}

}  // namespace

std::expected<Envelope, Error> decode_flow(lib::Json message, const DecodeContext& context,
                                           Texts& texts) {
  CHECK(context.derive != nullptr);
  return Decoder(context, texts).run(message);
}

}  // namespace parley::dialect
