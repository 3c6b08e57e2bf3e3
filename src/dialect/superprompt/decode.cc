// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "dialect/foreign.h"
#include "dialect/reading.h"
#include "dialect/superprompt/fields.h"
#include "dialect/superprompt/superprompt.h"

namespace parley::dialect {

namespace {

using namespace superprompt;
using base::Code;
using core::ContentType;
using core::Kind;
using core::NeedsApproval;
using core::Status;
using lib::Json;

Kind kind_of(Type type) {
  switch (type) {
    case Type::delegation:
      return Kind::request;
    case Type::completion:
      return Kind::response;
    case Type::approval:
      return Kind::approval_request;
    case Type::flag:
      return Kind::private_flag;
    case Type::health:
      return Kind::health_report;
    case Type::extension:
    case Type::decision:
    case Type::notice:
      break;
  }
  return Kind::notification;
}

class Decoder : MemberReader {
 public:
  Decoder(const DecodeContext& context, Texts& texts) : MemberReader(members, context, texts) {}

  std::expected<Envelope, Error> run(Json message) {
    if (!message.is_object()) {
      return std::unexpected(
          Error{Code::bad_request, "a message is a JSON object, found " + describe(message), {}});
    }
    message_ = message;
    const bool good = fits() && collect(message) && unknown_once() && read_type() && read_head() &&
                      read_content() && read_foreign_member() && read_links();
    if (good) {
      take_body();
    }
    return finish(good, Field::traceparent, Field::tracestate);
  }

 private:
  bool fits();
  bool read_type();
  bool read_head();
  bool read_content();
  bool read_foreign_member();
  bool read_links();
  bool find(std::string_view id, std::string_view field, base::MessageId& out);
  void take_body();

  void read_delegation();
  void read_completion();
  void read_approval();
  void take_foreign(Foreign& foreign);
  void take_status(const Foreign& foreign);

  void read_level(Json value);
  void read_ratio(Json value, bool up = false);
  std::string_view text(Json value) const { return value.as_string().value_or(""); }

  Json message_;
  Type type_ = Type::notice;
  bool wrapped_ = false;
};

bool Decoder::fits() {
  const size_t bytes = message_.raw().size();
  const size_t bytes_max =
      context_.bytes_max == 0 ? superprompt_message_bytes_max : context_.bytes_max;
  return bytes <= bytes_max ||
         fail(Code::payload_too_large,
              "a superprompt message has at most " + std::to_string(bytes_max) +
                  " bytes (superprompt.message_bytes_max), this one has " + std::to_string(bytes) +
                  "; use excerpts instead of full documents",
              {});
}

bool Decoder::read_type() {
  Json type;
  if (!require(Field::message_type, false, one_of(types), type) ||
      !read_word(Field::message_type, type, types, type_)) {
    return false;
  }
  e_.type = word_for(types, type_);
  if (is_brokers(type_)) {
    return fail(Code::forbidden,
                "message_type: only the broker sends a " + std::string(e_.type) +
                    "; an agent sends task_delegation, task_completion, hitl_approval_request, "
                    "coc_violation_flag, agent_health_check or timeout_extension_request",
                fields[Field::message_type].pointer);
  }
  e_.dialect = Dialect::superprompt;
  e_.kind = kind_of(type_);
  e_.requires_ack = asks(e_.kind);
  e_.on_timeout = asks(e_.kind) ? core::OnTimeout::retry : core::OnTimeout::fail;
  return true;
}

bool Decoder::read_head() {
  Json id;
  Json from;
  Json to;
  Json timestamp;
  std::string_view name;
  if (!require(Field::message_id, true, "a string of 1 to 256 bytes", id) ||
      !require(Field::timestamp, true, time_wanted, timestamp) ||
      !require(Field::from_agent, true, "the agent's id", from) ||
      !require(Field::to_agent, e_.kind == Kind::response, "an agent's id", to) ||
      !read_sender(Field::from_agent, from) ||
      (to && !read_text(Field::to_agent, to, superprompt_name_bytes_max, name)) ||
      !read_any_id(Field::message_id, id, superprompt_name_bytes_max) ||
      !read_created(Field::timestamp, timestamp)) {
    return false;
  }
  if (name == topic_prefix) {
    return wrong(Field::to_agent, "an agent's id");
  }
  if (!name.empty()) {
    e_.receivers.push_back(name);
  }
  return true;
}

bool Decoder::read_content() {
  if (auto good = check_content(type_, message_, context_.lenient); !good) {
    error_ = std::move(good.error());
    return false;
  }
  if (message_.find("made_by")) {
    return fail(Code::forbidden, "made_by: only the broker says that it made a message",
                "/made_by");
  }
  switch (type_) {
    case Type::delegation:
      read_delegation();
      break;
    case Type::completion:
      read_completion();
      break;
    case Type::approval:
      read_approval();
      break;
    case Type::extension:
      e_.task = text(message_.find("task_id"));
      e_.subject = base::cut(text(message_.find("reason")), summary_bytes_max);
      e_.response_timeout = base::seconds(*message_.find("requested_seconds").as_int64());
      break;
    case Type::health:
      e_.subject = text(message_.find("status"));
      break;
    case Type::flag:
    case Type::decision:
    case Type::notice:
      break;
  }
  return true;
}

void Decoder::read_level(Json value) {
  if (const auto* const word = find_word(levels, text(value)); word != nullptr) {
    e_.priority = word->value;
  }
}

// Down to whole parts per million, or up: what is a little less sure than was asked for is less.
void Decoder::read_ratio(Json value, bool up) {
  if (value.as_double()) {
    e_.confidence_ppm = parts_per_million(value.raw(), up);
  }
}

// A delegation is a task by its own id.
void Decoder::read_delegation() {
  const Json task = message_.find("task");
  e_.task = e_.native_id.empty() ? std::string_view(texts_.emplace_back(base::format_uuid(e_.id)))
                                 : e_.native_id;
  e_.subject = base::cut(text(task.find("description")), subject_bytes_max);
  e_.correlation = text(message_.find("event_context").find("event_id"));
  read_level(task.find("priority"));
  read_ratio(task.find("confidence_threshold"), true);
  if (const auto seconds = task.find("timeout_seconds").as_int64()) {
    e_.response_timeout = base::seconds(*seconds);
  }
  if (task.find("requires_hitl").as_bool() == true) {
    e_.needs_approval = NeedsApproval::answer;
  }
}

void Decoder::read_completion() {
  e_.task = text(message_.find("task_id"));
  e_.subject = base::cut(text(message_.find("rationale")), summary_bytes_max);
  read_ratio(message_.find("confidence_score"));
  const Json error = message_.find("error");
  e_.error_type = base::cut(text(error.find("error_type")), summary_bytes_max);
  e_.error_message =
      texts_.emplace_back(base::shortened(text(error.find("error_message")), subject_bytes_max));
  if (message_.find("requires_human_review").as_bool() == true) {
    const std::string_view reason = text(message_.find("human_review_reason"));
    e_.review = texts_.emplace_back(base::shortened(
        reason.empty() ? text(message_.find("rationale")) : reason, subject_bytes_max));
  }
  switch (find_word(outcomes, text(message_.find("status")))->value) {
    case Outcome::success:
      e_.status = Status::success;
      break;
    case Outcome::failure:
      e_.status = Status::error;
      e_.is_recoverable = error.find("is_recoverable").as_bool() == true;
      break;
    case Outcome::requires_approval:
      e_.status = Status::success;
      e_.needs_approval = NeedsApproval::message;
      break;
    case Outcome::partial_success:
      e_.status = Status::partial;
      break;
  }
}

void Decoder::read_approval() {
  e_.action = text(message_.find("approval_needed_for"));
  e_.subject = e_.action;
  read_level(message_.find("priority"));
  read_ratio(message_.find("confidence"));
  constexpr double hour_us = 3.6e9;
  if (const auto hours = message_.find("timeout_hours").as_double()) {
    e_.response_timeout = base::Duration{std::llround(*hours * hour_us)};
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
  return true;
}

// What superprompt has no member for. What its own members say is not changed by it, but said more
// precisely. The receivers are its own only if they are of this very message, which went through
// superprompt and comes back.
void Decoder::take_foreign(Foreign& foreign) {
  if (type_ == Type::delegation) {
    (void)take_kind(foreign, Dialect::superprompt, e_);
  }
  wrapped_ = foreign.wrapped && (type_ == Type::delegation || type_ == Type::completion);
  if (wrapped_) {
    e_.subject = {};
    e_.task = {};
  }
  e_.subject = foreign.subject.empty() ? e_.subject : foreign.subject;
  e_.task = foreign.task.empty() ? e_.task : foreign.task;
  e_.action = e_.action.empty() ? foreign.action : e_.action;
  e_.correlation = e_.correlation.empty() ? foreign.correlation : e_.correlation;
  e_.reply_to = foreign.reply_to;
  e_.thread = foreign.thread;
  e_.causation = foreign.causation;
  e_.session = foreign.session;
  e_.sequence_number = foreign.sequence_number;
  e_.ttl = foreign.ttl;
  e_.on_timeout = foreign.on_timeout.value_or(e_.on_timeout);
  e_.requires_ack = foreign.requires_ack.value_or(asks(e_.kind));
  if (e_.response_timeout.us == 0) {
    e_.response_timeout = foreign.response_timeout;
  }
  if (e_.confidence_ppm < 0) {
    e_.confidence_ppm = confidence_of(foreign, e_.kind);
  }
  if (e_.needs_approval == NeedsApproval::nothing) {
    e_.needs_approval = foreign.needs_approval.value_or(e_.needs_approval);
  }
  e_.is_recoverable = e_.is_recoverable || foreign.is_recoverable;
  take_dispute(foreign, e_);
  const bool has_level = type_ == Type::delegation || type_ == Type::approval;
  if (foreign.priority &&
      (!has_level || std::min(*foreign.priority, core::Priority::high) == e_.priority)) {
    e_.priority = *foreign.priority;
  }
  e_.content_type = foreign.content_type.value_or(e_.content_type);
  take_status(foreign);
  if (is_id_of(foreign.id, e_.id, e_.sender, context_.derive) && foreign.receivers.size() > 1) {
    e_.receivers = std::move(foreign.receivers);
  }
}

void Decoder::take_status(const Foreign& foreign) {
  if (type_ == Type::completion && foreign.status &&
      outcome_of(*foreign.status, e_.needs_approval) == outcome_of(e_.status, e_.needs_approval)) {
    e_.status = *foreign.status;
  }
}

bool Decoder::find(std::string_view id, std::string_view field, base::MessageId& out) {
  std::expected<base::MessageId, Error> found =
      std::unexpected(Error{Code::not_found, "no message that was sent to you has this id", {}});
  if (context_.lookup != nullptr) {
    found = context_.lookup->find_received(id, e_.receivers);
  } else if (const auto uuid = base::parse_uuid(id); uuid && !uuid->is_none()) {
    found = *uuid;
  }
  if (!found) {
    return fail(found.error().code, std::string(field.substr(1)) + ": " + found.error().detail,
                field);
  }
  out = *found;
  return true;
}

// in_reply_to and task_id name the same delegation, by its message_id.
bool Decoder::read_links() {
  const std::string_view task = text(message_.find("task_id"));
  const bool names_task = type_ == Type::completion || type_ == Type::extension;
  std::string_view answered;
  if (!read_optional_text(Field::in_reply_to, superprompt_name_bytes_max, answered)) {
    return false;
  }
  const bool task_is_enough = !task.empty() && (type_ == Type::extension || context_.lenient);
  if (names_task && answered.empty() && !task_is_enough) {
    return wrong(Field::in_reply_to, "the message_id of the delegation that this is about",
                 "a " + std::string(e_.type) + " requires it");
  }
  base::MessageId of_task;
  if (names_task && !task.empty() && !find(task, "/task_id", of_task)) {
    return false;
  }
  if (answered.empty()) {
    e_.in_reply_to = of_task;
    answered = names_task ? task : answered;
  } else if (const auto uuid = base::parse_uuid(answered);
             uuid && !uuid->is_none() && !names_task) {
    e_.in_reply_to = *uuid;
  } else if (!find(answered, fields[Field::in_reply_to].pointer, e_.in_reply_to)) {
    return false;
  }
  if (!of_task.is_none() && of_task != e_.in_reply_to) {
    return fail(
        Code::validation_failed,
        "task_id: wanted the message_id of the delegation that in_reply_to names, found \"" +
            std::string(task) + "\"",
        "/task_id");
  }
  if (uuid_of(answered)) {
    if (has_upper_case(answered) && found(Field::in_reply_to)) {
      keep(Field::in_reply_to);
    }
  } else {
    e_.question = answered;
  }
  return true;
}

// What is asked of people is the action alone. What another dialect said is the body that it had.
// All else stays together.
void Decoder::take_body() {
  if (type_ == Type::approval) {
    e_.body = take_unknown("proposed_action").raw();
    return;
  }
  if (!wrapped_) {
    e_.body = take_all_unknown();
    return;
  }
  const Json context = message_.find("context");
  const bool is_delegation = type_ == Type::delegation;
  const Json body = is_delegation ? context.find("body") : message_.find("body");
  const Json words =
      is_delegation ? context.find("content").find("body") : message_.find("rationale");
  e_.body = body ? body.raw() : words.as_string() ? words.raw() : "null";
  if (e_.body.starts_with('"') && e_.content_type == ContentType::json) {
    e_.content_type = ContentType::text;
  }
}

}  // namespace

std::expected<Envelope, Error> decode_superprompt(lib::Json message, const DecodeContext& context,
                                                  Texts& texts) {
  CHECK(context.derive != nullptr);
  return Decoder(context, texts).run(message);
}

}  // namespace parley::dialect
