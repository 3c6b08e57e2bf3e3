// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "dialect/collab/collab.h"
#include "dialect/collab/fields.h"
#include "dialect/foreign.h"
#include "dialect/reading.h"

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

class Decoder : MemberReader {
 public:
  Decoder(const DecodeContext& context, Texts& texts) : MemberReader(members, context, texts) {}

  std::expected<Envelope, Error> run(Json message) {
    if (!message.is_object()) {
      return std::unexpected(
          Error{Code::bad_request, "a message is a JSON object, found " + describe(message), {}});
    }
    const bool good = fits(message) && collect(message) && unknown_once() && read_words() &&
                      read_people() && read_id() && read_content() && read_times() &&
                      read_context() && read_foreign_member() && read_answer();
    return finish(good, Field::traceparent, Field::tracestate);
  }

 private:
  bool fits(Json message);
  bool read_words();
  bool read_people();
  bool read_id();
  bool read_content();
  bool read_times();
  bool read_context();
  bool read_foreign_member();
  bool read_answer();

  bool read_receivers(Json to);
  bool read_name(FieldId field, std::string_view& out) {
    return read_optional_text(field, collab_text_bytes_max, out);
  }
  Status status_in_payload() const;

  std::string_view foreign_correlation_;  // of a response, whose own names what it answers
};

bool Decoder::fits(Json message) {
  const size_t bytes = message.raw().size();
  const size_t bytes_max = context_.bytes_max == 0 ? collab_message_bytes_max : context_.bytes_max;
  return bytes <= bytes_max || fail(Code::payload_too_large,
                                    "a collab message has at most " + std::to_string(bytes_max) +
                                        " bytes, this one has " + std::to_string(bytes) +
                                        "; send a reference to what it is about instead",
                                    fields[Field::payload].pointer);
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
  return read_sender(Field::from, from) && (!to || read_receivers(to)) &&
         read_name(Field::reply_to, e_.reply_to);
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
    if (e_.receivers.size() == 1) {
      keep_as(Field::to, "[]");
    }
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
  return require(Field::id, true, "a string of 1 to 256 bytes", id) &&
         read_any_id(Field::id, id, collab_text_bytes_max);
}

// JSON has no `undefined`: a payload that is undefined is one that is missing.
bool Decoder::read_content() {
  Json action;
  if (!require(Field::action, e_.kind == Kind::response, "a string of 1 to 256 bytes", action) ||
      (action && !read_text(Field::action, action, collab_text_bytes_max, e_.action))) {
    return false;
  }
  const Json payload = found(Field::payload);
  if (!payload && !context_.lenient) {
    return wrong(Field::payload, "any JSON", "it is required, and may be null");
  }
  e_.body = payload ? payload.raw() : "null";
  e_.content_type =
      payload && payload.kind() == JsonKind::string ? ContentType::text : ContentType::json;
  return true;
}

bool Decoder::read_times() {
  Json timestamp;
  if (!require(Field::timestamp, true, time_wanted, timestamp) ||
      !read_created(Field::timestamp, timestamp)) {
    return false;
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
  return e_.ttl.us > 0 || wrong(Field::expires_at, "a time that is not past",
                                "it is " + base::format_time(context_.received) + " here");
}

bool Decoder::read_context() {
  return read_name(Field::session_id, e_.session) &&
         read_name(Field::correlation_id, e_.correlation) &&
         read_name(Field::causation_id, e_.causation);
}

// `{"success": false}` is how a response of the protocol says that it failed.
Status Decoder::status_in_payload() const {
  const Json payload = found(Field::payload);
  const Json success = payload ? payload.find("success") : Json();
  return success && success.as_bool() == false ? Status::error : Status::success;
}

bool Decoder::read_foreign_member() {
  if (e_.kind == Kind::response) {
    e_.status = status_in_payload();
  }
  const Json value = given(Field::foreign);
  if (value) {
    auto foreign = read_foreign(value, fields[Field::foreign].pointer);
    if (!foreign) {
      error_ = std::move(foreign.error());
      return false;
    }
    keep(Field::foreign);
    e_.thread = foreign->thread;
    e_.subject = foreign->subject;
    e_.task = foreign->task;
    e_.confidence_ppm = confidence_of(*foreign, e_.kind);
    e_.needs_approval = foreign->needs_approval.value_or(e_.needs_approval);
    e_.is_recoverable = foreign->is_recoverable;
    take_dispute(*foreign, e_);
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
    } else if (!foreign->in_reply_to.empty() && context_.lookup != nullptr) {
      const auto followed = context_.lookup->find_received(foreign->in_reply_to, e_.receivers);
      e_.in_reply_to = followed ? *followed : base::MessageId{};
      e_.question = followed ? foreign->in_reply_to : std::string_view{};
    }
    if (e_.type == "event") {
      (void)take_kind(*foreign, Dialect::collab, e_);
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
    std::expected<base::MessageId, Error> answered =
        std::unexpected(Error{Code::not_found, "no message that was sent to you has this id", {}});
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
  const FieldId field = e_.correlation.empty() ? Field::causation_id : Field::correlation_id;
  return fail(why.code, std::string(fields[field].name) + ": " + why.detail, fields[field].pointer);
}

}  // namespace

std::expected<Envelope, Error> decode_collab(lib::Json message, const DecodeContext& context,
                                             Texts& texts) {
  CHECK(context.derive != nullptr);
  return Decoder(context, texts).run(message);
}

}  // namespace parley::dialect
