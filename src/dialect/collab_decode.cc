// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bitset>

#include "base/check.h"
#include "dialect/collab.h"
#include "dialect/collab_fields.h"
#include "dialect/foreign.h"
#include "dialect/iso8601.h"
#include "dialect/reading.h"
#include "dialect/tracing.h"
#include "lib/json_writer.h"

namespace parley::dialect {

namespace {

using namespace collab;
using base::Code;
using core::ContentType;
using core::Kind;
using core::Status;
using lib::Json;
using lib::JsonKind;

constexpr int64_t priority_max = 3;

// One message on its way in. Each step returns false when it has set the error.
class Decoder {
 public:
  Decoder(const DecodeContext& context, Texts& texts) : context_(context), texts_(texts) {}

  std::expected<Envelope, Error> run(Json message) {
    if (!message.is_object()) {
      return std::unexpected(
          Error{Code::bad_request, "a message is a JSON object, found " + describe(message), {}});
    }
    const bool good = fits(message) && collect(message) && unknown_once() && read_words() &&
                      read_people() && read_id() && read_content() && read_times() &&
                      read_context() && read_foreign_member() && read_answer();
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

  // True when a required member is there. Where it may be filled in, and in lenient mode, it may be
  // missing: then `value` is no value.
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

  bool fits(Json message);
  bool collect(Json message);
  bool unknown_once();
  bool read_words();
  bool read_people();
  bool read_id();
  bool read_content();
  bool read_times();
  bool read_context();
  bool read_foreign_member();
  bool read_answer();
  void keep_the_rest();

  bool read_receivers(Json to);
  bool read_text(Field field, Json value, std::string_view& out);
  bool read_optional_text(Field field, std::string_view& out);
  bool read_time(Field field, Json value, base::Time& out);
  Status status_in_payload() const;

  const DecodeContext& context_;
  Texts& texts_;
  Envelope e_;
  Error error_;
  std::array<Json, field_count> found_{};
  std::bitset<field_count> kept_;
  std::vector<lib::JsonMember> unknown_;
  bool listed_ = false;  // one receiver, written as a list
  std::string_view foreign_correlation_;  // of a response, whose own names what it answers
};

bool Decoder::fits(Json message) {
  const size_t bytes = message.raw().size();
  const size_t bytes_max = context_.bytes_max == 0 ? collab_message_bytes_max : context_.bytes_max;
  return bytes <= bytes_max ||
         fail(Code::payload_too_large,
              "a collab message has at most " + std::to_string(bytes_max) +
                  " bytes, this one has " + std::to_string(bytes) +
                  "; send a reference to what it is about instead",
              info(Field::payload).pointer);
}

bool Decoder::collect(Json message) {
  for (const lib::JsonMember& member : message.members()) {
    const auto* const known = std::ranges::find(fields, member.key, &FieldInfo::name);
    if (known == fields.end()) {
      unknown_.push_back(member);
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

bool Decoder::unknown_once() {
  if (unknown_.size() < 2) {
    return true;
  }
  std::vector<std::string_view> keys;
  for (const lib::JsonMember& member : unknown_) {
    keys.push_back(member.key);
  }
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  return twice == keys.end() ||
         fail(Code::validation_failed, "a member is there twice; leave one out",
              pointer_step(*twice));
}

bool Decoder::read_words() {
  Json stated;
  Json type;
  Json priority;
  if (!require(Field::version, true, "\"1.0\"", stated) ||
      !require(Field::type, false, one_of(types), type) ||
      !require(Field::priority, true, "0, 1, 2 or 3", priority)) {
    return false;
  }
  if (stated && stated.as_string() != version) {
    return wrong(Field::version, "\"1.0\"", "no other version of the protocol is spoken here");
  }
  const auto text = type.as_string();
  const auto* const word = text ? find_word(types, *text) : nullptr;
  if (word == nullptr) {
    return wrong(Field::type, one_of(types));
  }
  e_.kind = word->value;
  e_.type = word->text;
  if (priority) {
    const auto level = priority.as_int64();
    if (!level || *level < 0 || *level > priority_max) {
      return wrong(Field::priority, "0 (LOW), 1 (NORMAL), 2 (HIGH) or 3 (URGENT)");
    }
    e_.priority = static_cast<core::Priority>(*level);
  }
  e_.dialect = Dialect::collab;
  e_.on_timeout = asks(e_.kind) ? core::OnTimeout::retry : core::OnTimeout::fail;
  e_.requires_ack = asks(e_.kind);
  return true;
}

bool Decoder::read_people() {
  Json from;
  Json to;
  if (!require(Field::from, true, "the agent's id", from) ||
      !require(Field::to, e_.kind == Kind::response,
               "an agent's id, a list of them, a topic or \"*\"", to)) {
    return false;
  }
  e_.sender = context_.sender;
  if (from) {
    const auto name = from.as_string();
    if (!name) {
      return wrong(Field::from, "the agent's id, a string");
    }
    if (*name != context_.sender) {
      return fail(Code::sender_mismatch,
                  "from: wanted \"" + std::string(context_.sender) +
                      "\", the principal of the token, found " + describe(from),
                  info(Field::from).pointer);
    }
  }
  return (!to || read_receivers(to)) && read_optional_text(Field::reply_to, e_.reply_to);
}

bool Decoder::read_receivers(Json to) {
  constexpr std::string_view wanted =
      "an agent's id, a list of them, a topic or \"*\", each of 1 to 256 bytes";
  const auto add = [&](Json value) {
    const auto name = value.as_string();
    if (!name || name->empty() || name->size() > collab_text_bytes_max || *name == topic_prefix) {
      return false;
    }
    e_.receivers.push_back(*name);
    return true;
  };
  if (to.kind() != JsonKind::array) {
    if (!add(to)) {
      return wrong(Field::to, wanted);
    }
  } else {
    size_t at = 0;
    for (const Json element : to.elements()) {
      if (!add(element)) {
        return fail(Code::validation_failed,
                    "to: wanted an agent's id of 1 to 256 bytes, found " + describe(element),
                    "/to/" + std::to_string(at));
      }
      ++at;
    }
    if (e_.receivers.empty()) {
      return wrong(Field::to, wanted, "a list names one agent at least");
    }
    listed_ = e_.receivers.size() == 1;
  }
  for (size_t at = 0; at < e_.receivers.size(); ++at) {
    const bool many = e_.receivers[at] == everyone || e_.receivers[at].starts_with(topic_prefix);
    if (many && e_.receivers.size() > 1) {
      return fail(Code::validation_failed,
                  "to: wanted an agent's id in a list, found " + std::string(e_.receivers[at]) +
                      "; a topic or \"*\" stands alone",
                  "/to/" + std::to_string(at));
    }
    if (many && e_.kind == Kind::notification) {
      e_.kind = Kind::broadcast;
    }
  }
  return true;
}

bool Decoder::read_id() {
  Json id;
  if (!require(Field::id, true, "a string of 1 to 256 bytes", id)) {
    return false;
  }
  if (!id) {
    e_.id = context_.fallback_id;
    return true;
  }
  std::string_view text;
  if (!read_text(Field::id, id, text)) {
    return false;
  }
  if (const auto uuid = uuid_of(text)) {
    e_.id = *uuid;
    e_.native_id = has_upper_case(text) ? text : std::string_view{};
  } else {
    e_.id = message_id_of(context_.derive, e_.sender, text);
    e_.native_id = text;
  }
  return true;
}

// JSON has no `undefined`: a payload that is undefined is one that is missing.
bool Decoder::read_content() {
  Json action;
  if (!require(Field::action, e_.kind == Kind::response, "a string of 1 to 256 bytes", action) ||
      (action && !read_text(Field::action, action, e_.action))) {
    return false;
  }
  const Json payload = found(Field::payload);
  if (!payload && !context_.lenient) {
    return wrong(Field::payload, "any JSON", "it is required, and may be null");
  }
  e_.body = payload ? payload.raw() : "null";
  e_.content_type = payload && payload.kind() == JsonKind::string ? ContentType::text
                                                                  : ContentType::json;
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
    if (!read_time(Field::timestamp, timestamp, e_.created)) {
      return false;
    }
    if (!is_canonical_time(*timestamp.as_string())) {
      keep(Field::timestamp);
    }
  }
  const Json expires = given(Field::expires_at);
  if (!expires) {
    return true;
  }
  base::Time end;
  if (!read_time(Field::expires_at, expires, end)) {
    return false;
  }
  keep(Field::expires_at);
  e_.ttl = end - context_.received;
  return e_.ttl.us > 0 ||
         wrong(Field::expires_at, "a time that is not past",
               "it is " + base::format_time(context_.received) + " here");
}

bool Decoder::read_context() {
  return read_optional_text(Field::session_id, e_.session) &&
         read_optional_text(Field::correlation_id, e_.correlation) &&
         read_optional_text(Field::causation_id, e_.causation);
}

// `{"success": false}` is how a response of the protocol says that it failed.
Status Decoder::status_in_payload() const {
  const Json payload = found_[static_cast<size_t>(Field::payload)];
  const Json success = payload ? payload.find("success") : Json();
  return success && success.as_bool() == false ? Status::error : Status::success;
}

bool Decoder::read_foreign_member() {
  if (e_.kind == Kind::response) {
    e_.status = status_in_payload();
  }
  const Json value = given(Field::foreign);
  if (value) {
    auto foreign = read_foreign(value, info(Field::foreign).pointer);
    if (!foreign) {
      error_ = std::move(foreign.error());
      return false;
    }
    keep(Field::foreign);
    e_.thread = foreign->thread;
    e_.subject = foreign->subject;
    e_.task = foreign->task;
    e_.confidence_ppm = foreign->confidence_ppm;
    e_.sequence_number = foreign->sequence_number;
    e_.response_timeout = foreign->response_timeout;
    e_.ttl = foreign->ttl.us != 0 ? foreign->ttl : e_.ttl;
    e_.content_type = foreign->content_type.value_or(e_.content_type);
    e_.on_timeout = foreign->on_timeout.value_or(e_.on_timeout);
    e_.requires_ack = foreign->requires_ack.value_or(e_.requires_ack);
    if (e_.kind == Kind::response) {
      e_.status = foreign->status.value_or(e_.status);
      foreign_correlation_ = foreign->correlation;
    } else if (const auto id = base::parse_uuid(foreign->in_reply_to); id && !id->is_none()) {
      e_.in_reply_to = *id;
    }
    if (e_.type == "event" && !foreign->type.empty()) {
      e_.kind = foreign->type == "broadcast"      ? Kind::broadcast
                : foreign->type == "notification" ? Kind::notification
                                                  : e_.kind;
    }
  }
  if (!e_.receivers.empty() && e_.receivers.front() == everyone && !e_.requires_ack) {
    e_.durability = core::Durability::memory;
  }
  return true;
}

// A response names in correlationId what it answers. One that carries a chain's correlationId along
// names it in causationId.
bool Decoder::read_answer() {
  if (e_.kind != Kind::response) {
    return true;
  }
  if (e_.correlation.empty() && e_.causation.empty()) {
    return wrong(Field::correlation_id, "the id of the message that this one answers",
                 "a response requires it");
  }
  Error why;
  for (const std::string_view id : {e_.correlation, e_.causation}) {
    if (id.empty()) {
      continue;
    }
    std::expected<base::MessageId, Error> answered = std::unexpected(Error{
        Code::not_found, "no message that was sent to you has this id", {}});
    if (context_.lookup != nullptr) {
      answered = context_.lookup->find_received(id, e_.receivers);
    } else if (const auto uuid = base::parse_uuid(id); uuid && !uuid->is_none()) {
      answered = *uuid;
    }
    if (answered) {
      e_.in_reply_to = *answered;
      e_.question = uuid_of(id) ? std::string_view{} : id;
      if (id == e_.correlation) {
        e_.correlation = foreign_correlation_;
      } else if (!e_.correlation.empty()) {
        keep(Field::correlation_id);
      }
      return true;
    }
    why = why.detail.empty() ? answered.error() : why;
  }
  const Field field = e_.correlation.empty() ? Field::causation_id : Field::correlation_id;
  return fail(why.code, std::string(info(field).name) + ": " + why.detail, info(field).pointer);
}

void Decoder::keep_the_rest() {
  if (kept_.none() && unknown_.empty() && !listed_) {
    return;
  }
  std::string& extra = texts_.emplace_back();
  lib::JsonWriter out(extra);
  out.object();
  for (const FieldInfo& field : fields) {
    if (field.field == Field::to && listed_) {
      out.key(field.pointer).array().end_array();
    } else if (kept_.test(static_cast<size_t>(field.field))) {
      const Json value = found(field.field);
      out.key(field.pointer);
      // Written anew, so that the same text always gives the same bytes.
      const auto text = value.as_string();
      text ? out.text(*text) : out.raw(value.raw());
    }
  }
  for (const lib::JsonMember& member : unknown_) {
    out.key(pointer_step(member.key)).raw(member.value.raw());
  }
  out.end_object();
  e_.extra = extra;
}

bool Decoder::read_text(Field field, Json value, std::string_view& out) {
  const auto text = value.as_string();
  if (!text || text->empty() || text->size() > collab_text_bytes_max) {
    return wrong(field, "a string of 1 to 256 bytes");
  }
  out = *text;
  return true;
}

bool Decoder::read_optional_text(Field field, std::string_view& out) {
  const Json value = given(field);
  return !value || read_text(field, value, out);
}

bool Decoder::read_time(Field field, Json value, base::Time& out) {
  const auto text = value.as_string();
  const auto time = text ? parse_time(*text) : std::nullopt;
  if (!time) {
    return wrong(field, "a time in UTC such as \"2026-11-15T21:06:53.042Z\"",
                 "the offset is Z or +00:00, and the date must exist");
  }
  out = *time;
  return true;
}

}  // namespace

std::expected<Envelope, Error> decode_collab(lib::Json message, const DecodeContext& context,
                                             Texts& texts) {
  CHECK(context.derive != nullptr);
  return Decoder(context, texts).run(message);
}

}  // namespace parley::dialect
