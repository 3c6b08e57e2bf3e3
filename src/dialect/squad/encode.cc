// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "dialect/foreign.h"
#include "dialect/squad/fields.h"
#include "dialect/squad/squad.h"

namespace parley::dialect {

namespace {

using namespace squad;
using core::Kind;
using core::Status;
using lib::Json;

constexpr size_t title_bytes_max = 80;
constexpr int64_t hour_us = 3'600'000'000;
constexpr int64_t ttl_min_us = hour_us / 10'000;
constexpr int64_t ttl_max_us = hour_us * 24 * 366;

Type nearest_type(const Envelope& e) {
  switch (e.kind) {
    case Kind::request:
      return Type::handoff;
    case Kind::query:
      return Type::query;
    case Kind::challenge:
      return Type::challenge;
    case Kind::escalation:
    case Kind::approval_request:
      return Type::escalation;
    case Kind::acknowledgement:
      return e.in_reply_to.is_none() ? Type::response : Type::ack;
    case Kind::response:
    case Kind::notification:
    case Kind::broadcast:
    case Kind::private_flag:
    case Kind::health_report:
      break;
  }
  return Type::response;
}

std::string_view stage_of(const Envelope& e) {
  if (e.kind != Kind::response) {
    return "pending";
  }
  return e.status == Status::partial    ? "in_progress"
         : e.status == Status::declined ? "escalated"
                                        : "completed";
}

// Whether the body of another dialect is one of this type as it is, and says what the envelope
// says: nobody claims in a body what the broker does not know of.
bool body_is_content(const Envelope& e, Type type) {
  if (!e.body.starts_with('{')) {
    return false;
  }
  std::string text;
  lib::JsonWriter out(text);
  out.object().key("id").text(squad_id(e)).key("timestamp").time(e.created);
  out.key("from").text(e.sender).key("to").plain("x").key("type").plain(word_for(types, type));
  out.key("priority").plain(word_for(levels, e.priority)).key("subject").plain("x");
  out.key("status").plain(stage_of(e));
  if (!e.in_reply_to.is_none()) {
    out.key("reply_to").uuid(e.in_reply_to);
  }
  out.key("body").raw(e.body).end_object();
  lib::JsonDocument document;
  Texts made;
  const auto read = read_as(Dialect::squad, text, e, document, made);
  const auto same = [](const auto& found, const auto& nothing, const auto& known) {
    return found == nothing || found == known;
  };
  return read && same(read->confidence_ppm, -1, e.confidence_ppm) &&
         same(read->stance, core::Stance::unset, e.stance) &&
         same(read->severity, core::Severity::unset, e.severity) &&
         same(read->blocked_since, base::Time{}, e.blocked_since) &&
         same(read->needs_approval, core::NeedsApproval::nothing, e.needs_approval) &&
         same(read->action, std::string_view{}, e.action) &&
         (type != Type::response || e.kind != Kind::response ||
          read->status == (e.status == Status::unset ? Status::success : e.status));
}

// What was squad before may be what only squad has a word for, where that asks for no more.
Type type_of(const Envelope& e) {
  const bool is_own = e.dialect == Dialect::squad;
  const Type nearest = nearest_type(e);
  const auto* const before = find_word(types, is_own ? e.type : type_before(e, Dialect::squad));
  if (is_own) {
    return before == nullptr ? nearest : before->value;
  }
  const bool asks_people = before != nullptr && before->value == Type::escalation;
  const bool disputes = before != nullptr && before->value == Type::challenge;
  if ((disputes && core::asks(e.kind)) || nearest == Type::challenge) {
    return body_is_content(e, Type::challenge) ? Type::challenge
           : nearest == Type::challenge        ? Type::query
                                               : nearest;
  }
  if (asks_people && core::asks(e.kind)) {
    return Type::escalation;
  }
  const bool acknowledges = before != nullptr && before->value == Type::ack &&
                            e.kind == Kind::response && !e.in_reply_to.is_none();
  return acknowledges ? Type::ack : nearest;
}

class Encoder : MemberWriter {
 public:
  Encoder(const Envelope& envelope, std::string& out)
      : MemberWriter(members, Dialect::squad, envelope, out), type_(type_of(envelope)) {}

  void run(const EncodeContext& context) {
    out_.object();
    write(Field::id, true, [&] { out_.text(squad_id(e_)); });
    write(Field::timestamp, true, [&] { out_.time(e_.created); });
    write(Field::from, true, [&] { out_.text(e_.sender); });
    if (context.stands_in) {  // a task that was given to it must not read as another's
      write_key(Field::to);
      out_.text(context.recipient);
    } else {
      write(Field::to, true, [&] {
        const std::string_view to = receiver_of(e_, context);
        out_.text(to == everyone ? announcement : to);
      });
    }
    write(Field::type, true, [&] { out_.plain(word_for(types, type_)); });
    write(Field::priority, true, [&] { out_.plain(word_for(levels, e_.priority)); });
    write(Field::subject, true, [&] { out_.text(subject()); });
    write(Field::body, true, [&] { write_body(); });
    write(Field::thread_id, !e_.thread.empty(), [&] { out_.text(e_.thread); });
    write(Field::reply_to, !e_.in_reply_to.is_none(),
          [&] { is_squad_id(e_.question) ? out_.text(e_.question) : out_.uuid(e_.in_reply_to); });
    write(Field::status, (is_foreign() && !came_back()) || says_stage(),
          [&] { out_.plain(stage_of(e_)); });
    write(Field::ttl_hours, e_.ttl.us >= ttl_min_us && e_.ttl.us <= ttl_max_us,
          [&] { write_hours(); });
    write_trace(Field::traceparent, Field::tracestate, context.trace);
    if (is_foreign()) {
      write_key(Field::foreign);
      out_.object();
      write_foreign();
      out_.end_object();
    } else {
      write(Field::foreign, false, [] {});
    }
    write_unknown();
    out_.end_object();
  }

  std::string subject() const {
    return e_.subject.empty() ? named(words())
                              : std::string(base::cut(e_.subject, squad_subject_bytes_max));
  }

 private:
  // Of a response that is not done, where its body does not say so.
  bool says_stage() const {
    if (type_ != Type::response ||
        (e_.status != Status::partial && e_.status != Status::declined)) {
      return false;
    }
    lib::JsonDocument document;
    const auto body = document.parse(e_.body);
    const auto read = body ? read_body(type_, *body) : std::unexpected(Error{});
    return !read || read->status != e_.status;
  }

  void write_hours() {
    e_.ttl.us % hour_us == 0
        ? out_.number(e_.ttl.us / hour_us)
        : out_.real(static_cast<double>(e_.ttl.us) / static_cast<double>(hour_us));
  }

  // The body where it is a text alone.
  std::string words() const {
    lib::JsonDocument document;
    const auto body = document.parse(e_.body);
    return std::string(body ? body->as_string().value_or("") : "");
  }

  // What it is called: by its own words, by the first of its text, or by its kind.
  std::string named(std::string_view text) const {
    return std::string(!e_.action.empty() ? base::cut(e_.action, squad_subject_bytes_max)
                       : !text.empty()    ? base::cut(text, title_bytes_max)
                       : !e_.type.empty() ? base::cut(e_.type, squad_subject_bytes_max)
                                          : word_of(e_.kind));
  }

  void write_body() {
    const bool stands = is_foreign() ? body_is_content(e_, type_) : e_.body.starts_with('{');
    if (stands) {
      out_.raw(e_.body);
      return;
    }
    wrapped_ = true;
    const std::string text = words();
    out_.object();
    if (type_ == Type::response && e_.kind == Kind::response) {
      const std::string_view result = word_for(results, e_.status);
      out_.key("result").plain(result.empty() ? "completed" : result);
    }
    out_.key(text_key(type_)).text(text.empty() ? subject() : text);
    constexpr base::Time writable_max{253'402'300'799'999'000};  // the year has four digits
    const base::Time deadline = e_.created + e_.response_timeout;
    if (core::asks(e_.kind) && e_.response_timeout.us > 0 && deadline <= writable_max) {
      out_.key("deadline").time(deadline);
    }
    if (!core::asks(e_.kind) && e_.confidence_ppm >= 0) {
      out_.key("confidence").real(e_.confidence_ppm / 1e6);
    }
    if (text.empty()) {
      out_.key("body").raw(e_.body.empty() ? "null" : e_.body);
    }
    out_.end_object();
  }

  void write_foreign() {
    begin_foreign(e_, out_);
    write_foreign_text("in_reply_to", is_squad_id(e_.question) ? "" : e_.question);
    write_foreign_text("reply_to", e_.reply_to);
    write_foreign_text("correlation", e_.correlation);
    write_foreign_text("causation", e_.causation);
    write_foreign_text("session", e_.session);
    write_foreign_text("action", e_.action);
    if (e_.status != Status::unset) {
      out_.key("status").plain(word_for(statuses, e_.status));
    }
    const bool is_text = e_.body.starts_with('"');
    if (e_.content_type != (is_text ? core::ContentType::text : core::ContentType::json)) {
      out_.key("content_type").plain(word_for(content_types, e_.content_type));
    }
    if (e_.ttl.us != 0) {
      out_.key("ttl").duration(e_.ttl);
    }
    if (e_.response_timeout.us != 0) {
      out_.key("response_timeout").duration(e_.response_timeout);
    }
    if (e_.on_timeout != core::OnTimeout::fail) {
      out_.key("on_timeout").plain(word_for(timeout_actions, e_.on_timeout));
    }
    if (e_.requires_ack != core::asks(e_.kind)) {
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

std::string_view squad::text_key(Type type) {
  switch (type) {
    case Type::handoff:
    case Type::query:
      return "task";
    case Type::response:
    case Type::ack:
      return "summary";
    case Type::challenge:
      return "claim_challenged";
    case Type::escalation:
      return "reason";
  }
  return {};
}

std::string_view squad_type(const Envelope& e) { return word_for(types, type_of(e)); }

std::optional<Codec::Meaning> squad_meaning(std::string_view type) {
  const auto* const word = find_word(types, type);
  if (word == nullptr) {
    return std::nullopt;
  }
  switch (word->value) {
    case Type::handoff:
      return Codec::Meaning{Kind::request, true};
    case Type::query:
      return Codec::Meaning{Kind::query, true};
    case Type::response:
      return Codec::Meaning{Kind::response, false};
    case Type::challenge:
      return Codec::Meaning{Kind::challenge, true};
    case Type::escalation:
      return Codec::Meaning{Kind::escalation, true};
    case Type::ack:
      return Codec::Meaning{Kind::acknowledgement, true};
  }
  return std::nullopt;
}

void encode_squad(const Envelope& envelope, const EncodeContext& context, std::string& out) {
  Encoder(envelope, out).run(context);
}

std::string squad_title(const Envelope& e) {
  std::string unused;
  return Encoder(e, unused).subject();
}

std::string_view squad_field(std::string_view canonical) {
  constexpr auto names =
      std::to_array<Word<std::string_view>>({{"/receiver", "/to"},
                                             {"/sender", "/from"},
                                             {"/in_reply_to", "/reply_to"},
                                             {"/reply_to", "/foreign/reply_to"},
                                             {"/conversation_id", "/thread_id"},
                                             {"/ttl", "/ttl_hours"},
                                             {"/response_timeout", "/foreign/response_timeout"}});
  const auto* const word = find_word(names, canonical);
  return word == nullptr ? canonical : word->value;
}

}  // namespace parley::dialect
