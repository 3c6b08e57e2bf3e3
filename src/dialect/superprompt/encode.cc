// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "core/model/policy.h"
#include "dialect/foreign.h"
#include "dialect/superprompt/fields.h"
#include "dialect/superprompt/superprompt.h"

namespace parley::dialect {

namespace {

using namespace superprompt;
using core::ContentType;
using core::Kind;
using core::NeedsApproval;
using core::Priority;
using core::Status;
using lib::Json;

// core/model/sizes.cc counts on these.
constexpr size_t title_bytes_max = 80;
constexpr size_t fact_bytes_max = 256;
constexpr double hour_us = 3.6e9;
constexpr int64_t second_us = 1'000'000;
constexpr int64_t timeout_seconds_max = 366 * 24 * 3'600;

bool is_object(const Envelope& e) { return e.body.starts_with('{'); }

bool has_member(std::string_view object, std::string_view quoted) {
  lib::JsonSlice slice;
  for (lib::JsonSlices slices(object); slices.next(slice);) {
    if (slice.key == quoted) {
      return true;
    }
  }
  return false;
}

void write_members(std::string_view object, lib::JsonWriter& out) {
  lib::JsonSlice slice;
  for (lib::JsonSlices slices(object); slices.next(slice);) {
    out.raw_key(slice.key).raw(slice.value);
  }
}

// What the broker tells an agent of its request for approval.
bool is_decision(const Envelope& e) {
  return e.via == core::Via::broker && e.action == "approval_decided" && is_object(e);
}

Type nearest_type(const Envelope& e) {
  switch (e.kind) {
    case Kind::request:
    case Kind::query:
    case Kind::challenge:
    case Kind::escalation:
      return Type::delegation;
    case Kind::approval_request:
      return Type::approval;
    case Kind::response:
    case Kind::acknowledgement:
      return e.in_reply_to.is_none() ? Type::notice : Type::completion;
    case Kind::private_flag:
      return Type::flag;
    case Kind::health_report:
      return Type::health;
    case Kind::notification:
    case Kind::broadcast:
      break;
  }
  return is_decision(e) ? Type::decision : Type::notice;
}

// Whether the body of another dialect has the members of this type, and they say what the envelope
// says: nobody claims in a body what the broker does not know of.
bool body_is_content(const Envelope& e, Type type) {
  if (!is_object(e)) {
    return false;
  }
  std::string text;
  lib::JsonWriter out(text);
  out.object().key("message_type").plain(word_for(types, type)).key("message_id");
  e.native_id.empty() ? out.uuid(e.id) : out.text(e.native_id);
  out.key("timestamp").time(e.created).key("from_agent").text(e.sender).key("to_agent").plain("x");
  if (!e.in_reply_to.is_none()) {
    out.key("in_reply_to");
    e.question.empty() ? out.uuid(e.in_reply_to) : out.text(e.question);
  }
  write_members(e.body, out);
  out.end_object();
  lib::JsonDocument document;
  Texts made;
  const auto read = read_as(Dialect::superprompt, text, e, document, made);
  if (!read) {
    return false;
  }
  const bool same_level =
      type != Type::delegation || read->priority == std::min(e.priority, Priority::high);
  return same_level && read->subject == e.subject && read->task == e.task &&
         (read->correlation.empty() || read->correlation == e.correlation) &&
         (read->response_timeout.us == 0 || read->response_timeout == e.response_timeout) &&
         read->confidence_ppm == e.confidence_ppm && read->needs_approval == e.needs_approval &&
         read->is_recoverable == e.is_recoverable && read->in_reply_to == e.in_reply_to &&
         (type != Type::completion ||
          outcome_of(read->status, read->needs_approval) == outcome_of(e.status, e.needs_approval));
}

// What was superprompt before may be what only superprompt has a word for, where it reads so.
Type type_of(const Envelope& e) {
  const bool is_own = e.dialect == Dialect::superprompt;
  const Type nearest = nearest_type(e);
  const auto* const before =
      find_word(types, is_own ? e.type : type_before(e, Dialect::superprompt));
  if (is_own) {
    return before == nullptr ? nearest : before->value;
  }
  const bool proposes =
      !e.action.empty() && e.action.size() <= superprompt_name_bytes_max && is_object(e);
  if (nearest == Type::approval ||
      (before != nullptr && before->value == Type::approval && nearest == Type::delegation)) {
    return proposes ? Type::approval : Type::delegation;
  }
  if (nearest == Type::flag) {
    return Type::notice;
  }
  if (nearest == Type::health ||
      (before != nullptr && nearest == Type::notice &&
       (before->value == Type::health || before->value == Type::extension))) {
    const Type wanted = nearest == Type::health ? Type::health : before->value;
    return body_is_content(e, wanted) ? wanted : Type::notice;
  }
  return nearest;
}

class Encoder : MemberWriter {
 public:
  Encoder(const Envelope& envelope, std::string& out)
      : MemberWriter(members, Dialect::superprompt, envelope, out), type_(type_of(envelope)) {}

  void run(const EncodeContext& context) {
    out_.object();
    write(Field::message_type, true, [&] { out_.plain(word_for(types, type_)); });
    write(Field::message_id, true, [&] { write_id(e_.native_id, e_.id); });
    write_answered();
    write(Field::timestamp, true, [&] { out_.time(e_.created); });
    write(Field::from_agent, true, [&] { out_.text(speaks_for()); });
    if (context.stands_in) {  // a task that was given to it must not read as another's
      write_key(Field::to_agent);
      out_.text(context.recipient);
    } else {
      write(Field::to_agent, true, [&] { out_.text(receiver_of(e_, context)); });
    }
    write_content();
    write_trace(Field::traceparent, Field::tracestate, context.trace);
    if (is_foreign()) {
      write_key(Field::foreign);
      out_.object();
      write_foreign();
      out_.end_object();
    } else {
      write(Field::foreign, false, [] {});
    }
    out_.end_object();
  }

  // Of a delegation.
  std::string description() const {
    lib::JsonDocument document;
    const auto body = document.parse(e_.body);
    if (body && stands_as_it_is()) {
      return std::string(body->find("task").find("description").as_string().value_or(""));
    }
    return std::string(named(body ? body->as_string().value_or("") : ""));
  }

 private:
  void write_answered() {
    const bool answers = !e_.in_reply_to.is_none();
    if (answers && kept(Field::in_reply_to) == "null") {
      write_key(Field::in_reply_to);
      write_id(e_.question, e_.in_reply_to);
    } else if (type_ != Type::decision) {
      write(Field::in_reply_to, answers, [&] { write_id(e_.question, e_.in_reply_to); });
    }
  }

  // The members of the type are the body's; of a message of this dialect they need no proof.
  bool stands_as_it_is() const {
    if (is_foreign()) {
      return body_is_content(e_, type_);
    }
    return is_object(e_) && (type_ != Type::delegation || has_member(e_.body, R"("task")")) &&
           (type_ != Type::completion || has_member(e_.body, R"("rationale")"));
  }

  void write_content() {
    if (type_ == Type::approval) {
      write_approval();
      write_unknown();
    } else if (type_ == Type::decision) {
      write_decision();
    } else if (type_ == Type::notice) {
      write_notice();
    } else if (has_unknown()) {
      if (type_ == Type::delegation && !has_unknown(R"("event_context")")) {
        write_event();
      }
      write_unknown();
      wrapped_ = true;
    } else if (stands_as_it_is()) {
      if (type_ == Type::delegation && !has_member(e_.body, R"("event_context")")) {
        write_event();
      }
      write_members(e_.body, out_);
    } else {
      wrapped_ = true;
      lib::JsonDocument document;
      const auto body = document.parse(e_.body);
      const std::string_view text = body ? body->as_string().value_or("") : std::string_view{};
      if (type_ == Type::completion) {
        write_completion(text, body ? *body : Json{});
      } else if (type_ == Type::delegation) {
        write_delegation(text);
      } else {
        write_notice();
      }
    }
  }

  // There is no event of a repository: what caused it is the message itself.
  void write_event() {
    out_.key("event_context").object().key("event_type").plain(message_event);
    if (!e_.correlation.empty() && e_.correlation.size() <= superprompt_name_bytes_max) {
      out_.key("event_id").text(e_.correlation);
    }
    out_.end_object();
  }

  void write_delegation(std::string_view text) {
    write_event();
    out_.key("task").object().key("description").text(named(text));
    out_.key("priority").plain(word_for(levels, std::min(e_.priority, Priority::high)));
    if (has_whole_seconds()) {
      out_.key("timeout_seconds").number(e_.response_timeout.us / second_us);
    }
    if (e_.needs_approval == NeedsApproval::answer) {
      out_.key("requires_hitl").boolean(true);
    }
    if (e_.confidence_ppm >= 0 && core::policy_of(e_.dialect).wants_confidence) {
      out_.key("confidence_threshold").real(e_.confidence_ppm / 1e6);
    }
    out_.end_object().key("context").object();
    if (text.empty()) {
      out_.key("body").raw(e_.body.empty() ? "null" : e_.body);
    } else {
      out_.key("content").object().key("body").raw(e_.body).end_object();
    }
    out_.end_object();
  }

  bool is_made_by_broker() const {
    return e_.via == core::Via::broker && e_.kind == Kind::response && !e_.on_behalf_of.empty();
  }

  // A failure that the broker makes is in the name of the worker that was asked (SP-05).
  std::string_view speaks_for() const {
    return is_made_by_broker() ? e_.on_behalf_of.front() : e_.sender;
  }

  bool has_whole_seconds() const {
    return e_.response_timeout.us > 0 && e_.response_timeout.us % second_us == 0 &&
           e_.response_timeout.us / second_us <= timeout_seconds_max;
  }

  // A text that is short enough is the rationale; any other answer stands in `body`.
  void write_completion(std::string_view text, Json body) {
    const bool is_rationale =
        !text.empty() && count_characters(text) <= superprompt_rationale_chars_max;
    const std::string rationale = is_rationale ? std::string(text) : named(text);
    const Outcome outcome = outcome_of(e_.status, e_.needs_approval);
    out_.key("task_id");
    write_id(e_.question, e_.in_reply_to);
    out_.key("status").plain(word_for(outcomes, outcome));
    if (e_.confidence_ppm >= 0) {
      out_.key("confidence_score").real(e_.confidence_ppm / 1e6);
    } else if (outcome != Outcome::failure) {
      out_.key("confidence_score").null();
    }
    out_.key("rationale").text(rationale);
    if (is_made_by_broker()) {
      out_.key("made_by").text(e_.sender);
    }
    if (outcome == Outcome::failure) {
      write_error(rationale, body);
    }
    if (!is_rationale) {
      out_.key("body").raw(e_.body.empty() ? "null" : e_.body);
    }
  }

  // The broker's own failures have these members as facts; one that is cut stands whole in `body`.
  // Of an agent's answer the body says more.
  void write_error(std::string_view rationale, Json body) {
    const auto text = [&](std::string_view key, std::string_view otherwise) {
      const std::string_view said =
          e_.via == core::Via::broker ? body.find(key).as_string().value_or("") : "";
      return said.empty() ? std::string(otherwise) : base::shortened(said, fact_bytes_max);
    };
    out_.key("error").object().key("error_type");
    out_.text(text("error_type", e_.status == Status::declined ? "declined" : "error"));
    out_.key("error_message").text(text("detail", base::shortened(rationale, title_bytes_max)));
    const auto count = body.find("retry_count").as_int64();
    if (e_.via == core::Via::broker && count && *count >= 0) {
      out_.key("retry_count").number(*count);
    }
    out_.key("is_recoverable").boolean(e_.is_recoverable);
    for (const std::string_view key : {"suggested_action", "decision", "decided_by", "comment"}) {
      if (const std::string said = text(key, ""); !said.empty()) {
        out_.key(key).text(said);
      }
    }
    out_.end_object();
  }

  void write_approval() {
    const auto wants = [this](std::string_view quoted) { return !has_unknown(quoted); };
    if (wants(R"("approval_needed_for")")) {
      out_.key("approval_needed_for").text(e_.action);
    }
    if (wants(R"("priority")") && (!has_unknown() || e_.priority != Priority::normal)) {
      out_.key("priority").plain(word_for(levels, std::min(e_.priority, Priority::high)));
    }
    if (wants(R"("timeout_hours")") && has_hours()) {
      out_.key("timeout_hours").real(static_cast<double>(e_.response_timeout.us) / hour_us);
    }
    out_.key("proposed_action").raw(e_.body);
    if (wants(R"("rationale")")) {
      out_.key("rationale")
          .text(base::shortened(e_.subject.empty() ? e_.action : e_.subject, subject_bytes_max));
    }
    if (wants(R"("confidence")") && e_.confidence_ppm >= 0) {
      out_.key("confidence").real(e_.confidence_ppm / 1e6);
    }
  }

  bool has_hours() const {
    constexpr int64_t year_us = timeout_seconds_max * second_us;
    return e_.response_timeout.us >= 4 * second_us && e_.response_timeout.us <= year_us;
  }

  // The facts of the broker's notice. A modification is the JSON of an action, in a text.
  void write_decision() {
    lib::JsonDocument document;
    const auto facts = document.parse(e_.body);
    const Json fact = facts ? *facts : Json{};
    const auto text = [&](std::string_view key) {
      if (const auto value = fact.find(key).as_string(); value && !value->empty()) {
        out_.key(key).text(*value);
      }
    };
    write_key(Field::in_reply_to);
    if (!e_.in_reply_to.is_none()) {
      write_id(e_.question, e_.in_reply_to);
    } else {
      out_.text(fact.find("message_id").as_string().value_or(""));
    }
    if (!e_.task.empty()) {  // of an answer that people decided on
      out_.key("task_id").text(e_.task);
    }
    text("decision");
    text("option");
    text("decided_by");
    text("asker");
    text("comment");
    text("detail");
    if (const auto modification = fact.find("modification").as_string()) {
      lib::JsonDocument inner;
      const auto action = inner.parse(*modification);
      out_.key("modification");
      action ? out_.raw(action->raw()) : out_.text(*modification);
    }
    text("summary");
    if (const auto number = fact.find("approval").as_int64()) {
      out_.key("approval").number(*number);
    }
  }

  void write_notice() {
    out_.key("notice").text(base::cut(!e_.action.empty() ? e_.action
                                      : !e_.type.empty() ? e_.type
                                                         : word_of(e_.kind),
                                      superprompt_name_bytes_max));
    if (!e_.subject.empty()) {
      out_.key("subject").text(e_.subject);
    }
    out_.key("body").raw(e_.body.empty() ? "null" : e_.body);
  }

  // What it is called: by its own words, by the first of its text, or by its kind.
  std::string named(std::string_view text) const {
    return !e_.subject.empty()  ? base::shortened(e_.subject, subject_bytes_max)
           : !e_.action.empty() ? base::shortened(e_.action, subject_bytes_max)
           : !text.empty()      ? base::shortened(text, title_bytes_max)
           : !e_.type.empty()   ? base::shortened(e_.type, subject_bytes_max)
                                : std::string(word_of(e_.kind));
  }

  void write_foreign() {
    const bool is_delegation = type_ == Type::delegation;
    begin_foreign(e_, out_);
    write_foreign_text("reply_to", e_.reply_to);
    write_foreign_text("thread", e_.thread);
    write_foreign_text("correlation", e_.correlation);
    write_foreign_text("causation", e_.causation);
    write_foreign_text("session", e_.session);
    write_foreign_text("action", e_.action);
    const bool says_status = e_.status == Status::success || e_.status == Status::unset;
    if (!says_status || (type_ != Type::completion && e_.status != Status::unset)) {
      out_.key("status").plain(word_for(statuses, e_.status));
    }
    const bool is_text = e_.body.starts_with('"');
    if (e_.content_type != (is_text ? ContentType::text : ContentType::json)) {
      out_.key("content_type").plain(word_for(content_types, e_.content_type));
    }
    const Priority said = is_delegation || type_ == Type::approval
                              ? std::min(e_.priority, Priority::high)
                              : Priority::normal;
    if (e_.priority != said) {
      out_.key("priority").plain(word_for(priorities, e_.priority));
    }
    if (e_.ttl.us != 0) {
      out_.key("ttl").duration(e_.ttl);
    }
    if (e_.response_timeout.us != 0 && !(is_delegation && wrapped_ && has_whole_seconds())) {
      out_.key("response_timeout").duration(e_.response_timeout);
    }
    if (e_.on_timeout != (asks(e_.kind) ? core::OnTimeout::retry : core::OnTimeout::fail)) {
      out_.key("on_timeout").plain(word_for(timeout_actions, e_.on_timeout));
    }
    if (e_.requires_ack != asks(e_.kind)) {
      out_.key("requires_ack").boolean(e_.requires_ack);
    }
    if (e_.sequence_number != 0) {
      out_.key("sequence_number").number(e_.sequence_number);
    }
    if (wrapped_) {
      out_.key("wrapped").boolean(true);
    }
    write_foreign_receivers();
    write_foreign_extra();
  }

  Type type_;
  bool wrapped_ = false;
};

}  // namespace

std::string_view superprompt_type(const Envelope& e) { return word_for(types, type_of(e)); }

std::optional<Codec::Meaning> superprompt_meaning(std::string_view type) {
  const auto* const word = find_word(types, type);
  if (word == nullptr) {
    return std::nullopt;
  }
  switch (word->value) {
    case Type::delegation:
      return Codec::Meaning{Kind::request, false};
    case Type::completion:
      return Codec::Meaning{Kind::response, true};
    case Type::approval:
      return Codec::Meaning{Kind::approval_request, true};
    case Type::flag:
      return Codec::Meaning{Kind::private_flag, false};
    case Type::health:
      return Codec::Meaning{Kind::health_report, true};
    case Type::extension:
    case Type::decision:
    case Type::notice:
      return Codec::Meaning{Kind::notification, false};
  }
  return std::nullopt;
}

void encode_superprompt(const Envelope& envelope, const EncodeContext& context, std::string& out) {
  Encoder(envelope, out).run(context);
}

std::string superprompt_title(const Envelope& e) {
  std::string unused;
  return Encoder(e, unused).description();
}

std::string_view superprompt_field(std::string_view canonical) {
  constexpr auto names =
      std::to_array<Word<std::string_view>>({{"/id", "/message_id"},
                                             {"/type", "/message_type"},
                                             {"/receiver", "/to_agent"},
                                             {"/sender", "/from_agent"},
                                             {"/reply_to", "/foreign/reply_to"},
                                             {"/conversation_id", "/foreign/thread"},
                                             {"/ttl", "/foreign/ttl"},
                                             {"/response_timeout", "/task/timeout_seconds"},
                                             {"/priority", "/task/priority"},
                                             {"/approvers", "/approvers_tagged"},
                                             {"/options", "/human_decision_options"}});
  const auto* const word = find_word(names, canonical);
  return word == nullptr ? canonical : word->value;
}

}  // namespace parley::dialect
