// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "dialect/foreign.h"
#include "dialect/reading.h"
#include "dialect/squad/fields.h"
#include "dialect/squad/squad.h"

namespace parley::dialect {

namespace {

using namespace squad;
using base::Code;
using core::ContentType;
using core::Kind;
using core::NeedsApproval;
using core::Status;
using lib::Json;

constexpr std::string_view id_wanted =
    "MSG-{YYYYMMDD}-{HHMMSS}-{short}, as MSG-20260201-043500-f7a2";
constexpr size_t summary_bytes_max = 120;
constexpr double hour_us = 3.6e9;
constexpr double hours_max = 366 * 24;
constexpr double hours_min = 0.0001;

class Decoder : MemberReader {
 public:
  Decoder(const DecodeContext& context, Texts& texts) : MemberReader(members, context, texts) {}

  std::expected<Envelope, Error> run(Json message) {
    if (!message.is_object()) {
      return std::unexpected(
          Error{Code::bad_request, "a message is a JSON object, found " + describe(message), {}});
    }
    const bool good = collect(message) && unknown_once() && read_words() && read_people() &&
                      read_head() && read_content() && read_foreign_member() && read_links() &&
                      read_subject();
    if (good && wrapped_) {
      unwrap_body();
    }
    return finish(good, Field::traceparent, Field::tracestate);
  }

 private:
  bool read_words();
  bool read_people();
  bool read_head();
  bool read_id(Json value);
  bool read_thread();
  bool read_ttl();
  bool read_content();
  void take_body(const Body& body);
  bool read_foreign_member();
  void take_foreign(Foreign& foreign);
  bool read_kind(bool has_question);
  bool read_links();
  bool find_question(std::string_view id);
  bool read_subject();
  void unwrap_body();

  Type type_ = Type::ack;
  Status stage_ = Status::success;
  std::string_view summary_;
  bool translated_ = false;  // it was sent in another dialect, and comes back
  bool wrapped_ = false;
  Foreign foreign_;
};

bool Decoder::read_words() {
  Json type;
  Json priority;
  if (!require(Field::type, false, one_of(types), type) ||
      !read_word(Field::type, type, types, type_) ||
      !require(Field::priority, true, one_of(levels), priority) ||
      !read_word(Field::priority, priority, levels, e_.priority)) {
    return false;
  }
  const Json status = given(Field::status);
  if (!read_word(Field::status, status, stages, stage_)) {
    return false;
  }
  if (status) {
    keep(Field::status);
  }
  e_.type = word_for(types, type_);
  e_.dialect = Dialect::squad;
  switch (type_) {
    case Type::handoff:
      e_.kind = Kind::request;
      break;
    case Type::query:
      e_.kind = Kind::query;
      break;
    case Type::response:
      e_.kind = Kind::response;
      break;
    case Type::challenge:
      e_.kind = Kind::challenge;
      break;
    case Type::escalation:
      e_.kind = Kind::escalation;
      break;
    case Type::ack:
      e_.kind = Kind::acknowledgement;
      break;
  }
  e_.requires_ack = asks(e_.kind);
  return true;
}

bool Decoder::read_people() {
  constexpr std::string_view wanted =
      "an agent's name, one with a wildcard such as agent:main:subagent:*, human:NAME or broadcast";
  Json from;
  Json to;
  std::string_view name;
  const bool goes_back = type_ == Type::response || type_ == Type::ack;
  if (!require(Field::from, true, "the agent's name", from) || !read_sender(Field::from, from) ||
      !require(Field::to, goes_back, wanted, to) ||
      (to && !read_text(Field::to, to, squad_name_bytes_max, name))) {
    return false;
  }
  if (name == topic_prefix) {
    return wrong(Field::to, wanted);
  }
  if (name == everyone) {
    keep(Field::to);
  }
  if (!name.empty()) {
    e_.receivers.push_back(name == announcement ? everyone : name);
  }
  return true;
}

bool Decoder::read_head() {
  Json id;
  Json timestamp;
  return require(Field::id, true, id_wanted, id) && read_id(id) &&
         require(Field::timestamp, true, time_wanted, timestamp) &&
         read_created(Field::timestamp, timestamp) && read_thread() && read_ttl();
}

// Null is not kept: its reader finds the thread that it is in.
bool Decoder::read_thread() {
  const Json value = found(Field::thread_id);
  return !value || value.is_null() ||
         read_text(Field::thread_id, value, squad_name_bytes_max, e_.thread);
}

bool Decoder::read_id(Json value) {
  if (value && !is_squad_id(value.as_string().value_or(""))) {
    return wrong(Field::id, id_wanted);
  }
  return read_any_id(Field::id, value, squad_name_bytes_max);
}

bool Decoder::read_ttl() {
  const Json value = given(Field::ttl_hours);
  if (!value) {
    return true;
  }
  const double hours = value.as_double().value_or(0);
  if (!(hours >= hours_min && hours <= hours_max)) {
    return wrong(Field::ttl_hours, "a number of hours from 0.0001 to 8784");
  }
  keep(Field::ttl_hours);
  e_.ttl = base::Duration{std::llround(hours * hour_us)};
  return true;
}

bool Decoder::read_content() {
  Json body;
  if (!require(Field::body, true, "an object", body)) {
    return false;
  }
  if (body && !body.is_object()) {
    return wrong(Field::body, "an object");
  }
  if (!body && type_ == Type::challenge) {
    return wrong(Field::body, "an object with claim_challenged, grounds and evidence");
  }
  e_.body = body ? body.raw() : "{}";
  if (!body) {
    return true;
  }
  const auto read = read_body(type_, body);
  if (!read) {
    error_ = read.error();
    return false;
  }
  take_body(*read);
  return true;
}

void Decoder::take_body(const Body& body) {
  summary_ = body.summary;
  e_.stance = body.stance;
  e_.severity = body.severity;
  e_.confidence_ppm = body.confidence_ppm;
  e_.blocked_since = body.blocked_since;
  if (body.is_external) {
    e_.needs_approval = NeedsApproval::message;
    e_.action = base::cut(body.external, squad_name_bytes_max);
  }
  if (type_ == Type::response) {
    e_.status = body.status == Status::unset ? stage_ : body.status;
    if (e_.status == Status::error) {
      e_.error_message = base::cut(body.summary, squad_subject_bytes_max);
    }
  }
}

bool Decoder::read_foreign_member() {
  const Json value = given(Field::foreign);
  if (!value) {
    return true;
  }
  auto foreign = read_foreign(value, fields[Field::foreign].pointer);
  if (!foreign) {
    error_ = std::move(foreign.error());
    return false;
  }
  keep(Field::foreign);
  take_foreign(*foreign);
  foreign_ = std::move(*foreign);
  return true;
}

// What squad has no member for. What its own members say is not changed by it, but said more
// precisely. The receivers are its own only if they are of this very message, which went through
// squad and comes back.
void Decoder::take_foreign(Foreign& foreign) {
  translated_ = is_id_of(foreign.id, e_.id, e_.sender, context_.derive);
  wrapped_ = foreign.wrapped && type_ != Type::challenge;
  if (translated_) {
    e_.native_id = foreign.id == base::format_uuid(e_.id) ? std::string_view{} : foreign.id;
    e_.subject = foreign.subject;
    e_.ttl = foreign.ttl;
    if (foreign.receivers.size() > 1) {
      e_.receivers = std::move(foreign.receivers);
    }
  }
  e_.task = foreign.task;
  e_.reply_to = foreign.reply_to;
  e_.correlation = foreign.correlation;
  e_.causation = foreign.causation;
  e_.session = foreign.session;
  e_.action = e_.action.empty() ? foreign.action : e_.action;
  e_.sequence_number = foreign.sequence_number;
  e_.ttl = foreign.ttl.us != 0 ? foreign.ttl : e_.ttl;
  e_.response_timeout = foreign.response_timeout;
  e_.on_timeout = foreign.on_timeout.value_or(e_.on_timeout);
  e_.requires_ack = foreign.requires_ack.value_or(asks(e_.kind));
  e_.is_recoverable = foreign.is_recoverable;
  e_.content_type = foreign.content_type.value_or(e_.content_type);
  e_.confidence_ppm = e_.confidence_ppm < 0 ? foreign.confidence_ppm : e_.confidence_ppm;
  take_dispute(foreign, e_);
  if (e_.needs_approval == NeedsApproval::nothing) {
    e_.needs_approval = foreign.needs_approval.value_or(e_.needs_approval);
  }
  if (type_ == Type::response) {
    e_.status = foreign.status.value_or(e_.status);
  }
}

// A response without reply_to reports. So does one that was no answer in another dialect.
bool Decoder::read_kind(bool has_question) {
  Envelope news{.kind = Kind::acknowledgement};  // which no word of another dialect means
  const auto foreign_kind = take_kind(foreign_, Dialect::squad, news);
  if (has_question &&
      (foreign_kind.value_or(Kind::response) == Kind::response || foreign_.status.has_value())) {
    return true;
  }
  const std::string_view to = e_.receivers.empty() ? std::string_view{} : e_.receivers.front();
  const bool is_known = news.kind == Kind::notification || news.kind == Kind::broadcast ||
                        news.kind == Kind::health_report;
  const bool is_announced = to == everyone || to.starts_with(topic_prefix);
  e_.kind = is_known ? news.kind : is_announced ? Kind::broadcast : Kind::notification;
  e_.status = Status::unset;
  return !e_.receivers.empty() ||
         wrong(Field::to, "an agent's name", "only what answers goes back by itself");
}

// An answer must name what it answers. Any other message may name what its sender has seen, and was
// not sent.
bool Decoder::read_links() {
  std::string_view id;
  if (!read_optional_text(Field::reply_to, squad_name_bytes_max, id)) {
    return false;
  }
  if (type_ == Type::ack && id.empty()) {
    return wrong(Field::reply_to, "the id of the message that is acknowledged",
                 "an ack requires it");
  }
  if (type_ == Type::response && !read_kind(!id.empty())) {
    return false;
  }
  return id.empty() || find_question(id);
}

bool Decoder::find_question(std::string_view id) {
  const auto uuid = uuid_said(id);
  std::expected<base::MessageId, Error> found =
      std::unexpected(Error{Code::not_found, "no message that was sent to you has this id", {}});
  if (context_.lookup != nullptr) {
    found = context_.lookup->find_received(id, e_.receivers);
  } else if (uuid) {
    found = *uuid;
  }
  const bool answers = e_.kind == Kind::response || e_.kind == Kind::acknowledgement;
  if (!found && (answers || found.error().code != Code::not_found)) {
    return fail(found.error().code, "reply_to: " + found.error().detail,
                fields[Field::reply_to].pointer);
  }
  if (!found || (uuid && base::format_uuid(*uuid) != id)) {
    keep(Field::reply_to);
  }
  if (found) {
    e_.in_reply_to = *found;
    e_.question = uuid ? name_of_answered(foreign_, *found, context_.derive) : id;
  }
  return true;
}

// What came in another dialect has the subject that it had there, or none.
bool Decoder::read_subject() {
  Json subject;
  std::string_view text;
  if (!require(Field::subject, true, "a brief description", subject) ||
      (subject && !read_text(Field::subject, subject, squad_subject_bytes_max, text))) {
    return false;
  }
  if (!translated_) {
    e_.subject = !text.empty()       ? text
                 : !summary_.empty() ? base::cut(summary_, summary_bytes_max)
                                     : e_.type;
  }
  return true;
}

// As encode_squad wraps it: the member `body`, or the text that stands for it.
void Decoder::unwrap_body() {
  keep(Field::body);
  const Json body = found(Field::body);
  const Json inner = body.find("body");
  if (inner) {
    e_.body = inner.raw();
  } else if (const Json text = body.find(text_key(type_)); text.as_string()) {
    e_.body = text.raw();
  } else {
    e_.body = "null";
  }
  if (e_.body.starts_with('"') && e_.content_type == ContentType::json) {
    e_.content_type = ContentType::text;
  }
}

}  // namespace

std::expected<Envelope, Error> decode_squad(lib::Json message, const DecodeContext& context,
                                            Texts& texts) {
  CHECK(context.derive != nullptr);
  return Decoder(context, texts).run(message);
}

}  // namespace parley::dialect
