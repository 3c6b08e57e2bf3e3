// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "dialect/foreign.h"
#include "dialect/inbox/fields.h"
#include "dialect/inbox/inbox.h"

namespace parley::dialect {

namespace {

using namespace inbox;
using core::ContentType;
using core::Kind;
using core::Status;

constexpr size_t title_bytes_max = 80;

// Of what the broker itself says: the news that something went wrong.
bool is_failure(const Envelope& e) {
  constexpr auto actions = std::to_array<std::string_view>(
      {"delivery_failed", "message_malformed", "request_timed_out", "summary"});
  return e.via == core::Via::broker && std::ranges::find(actions, e.action) != actions.end();
}

Type nearest_type(const Envelope& e) {
  switch (e.kind) {
    case Kind::request:
    case Kind::query:
    case Kind::challenge:
    case Kind::escalation:
    case Kind::approval_request:
      return Type::task;
    case Kind::response:
    case Kind::acknowledgement:
      return e.in_reply_to.is_none()     ? Type::status
             : e.status == Status::error ? Type::error
                                         : Type::result;
    case Kind::notification:
    case Kind::broadcast:
    case Kind::private_flag:
    case Kind::health_report:
      return is_failure(e) ? Type::error : Type::status;
  }
  return Type::status;
}

// Inbox has several words for some kinds; which it was, a message says that comes back. But what
// asks is a task and nothing else is, and an answer is as good as its status.
Type type_of(const Envelope& e) {
  const Type nearest = nearest_type(e);
  const bool came_back = e.dialect != Dialect::inbox;
  const auto* const word = find_word(types, came_back ? type_before(e, Dialect::inbox) : e.type);
  if (word == nullptr || (came_back && ((word->value == Type::task) != (nearest == Type::task) ||
                                        nearest == Type::result))) {
    return nearest;
  }
  return word->value;
}

class Encoder : MemberWriter {
 public:
  Encoder(const Envelope& envelope, std::string& out)
      : MemberWriter(members, Dialect::inbox, envelope, out), type_(type_of(envelope)) {}

  void run(const EncodeContext& context) {
    out_.object();
    write(Field::id, true, [&] { write_id(e_.native_id, e_.id); });
    write(Field::from, true, [&] { out_.text(e_.sender); });
    if (context.stands_in) {  // a task that was given to it must not read as another's
      write_key(Field::to);
      out_.text(context.recipient);
    } else {
      write(Field::to, true, [&] { out_.text(receiver_of(e_, context)); });
    }
    write(Field::content, true, [&] { write_content(); });
    write(Field::type, true, [&] { out_.plain(word_for(types, type_)); });
    write(Field::thread_id, true,
          [&] { e_.thread.empty() ? write_id(e_.native_id, e_.id) : void(out_.text(e_.thread)); });
    write(Field::priority, true,
          [&] { out_.plain(word_for(levels, std::min(e_.priority, core::Priority::high))); });
    write(Field::created_at, true, [&] { out_.time(e_.created); });
    write(Field::idempotency_key, false, [] {});
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

  // Of a task.
  std::string title() const {
    lib::JsonDocument document;
    const auto body = document.parse(e_.body);
    const auto content =
        body && body->is_object() && fits() ? read_content(type_, *body) : std::unexpected(Error{});
    return std::string(content ? content->summary
                               : title_of(body ? body->as_string().value_or("") : ""));
  }

 private:
  // What is an object is written as the text of one.
  void write_content() {
    const bool is_text = e_.body.starts_with('"');
    if (is_text && (!is_foreign() || !needs_json(type_)) && e_.body != "\"\"") {
      out_.raw(e_.body);
    } else if (!is_foreign() || fits()) {
      out_.text(e_.body);
    } else {
      wrapped_ = true;
      out_.text(wrapped());
    }
  }

  // Whether the body of another dialect is a content as it is.
  bool fits() const {
    lib::JsonDocument document;
    const auto body = document.parse(e_.body);
    if (!body || !body->is_object()) {
      return false;
    }
    // The reader's answer names the task as it finds it, and the broker knows it by that.
    const auto content = read_content(type_, *body);
    return content && (type_ == Type::task ? content->task == task_name()
                                           : e_.task.empty() || content->task == e_.task);
  }

  // The body, and in the members of the type what can be said of it.
  std::string wrapped() const {
    lib::JsonDocument document;
    const auto parsed = document.parse(e_.body);
    const std::string_view text = parsed ? parsed->as_string().value_or("") : std::string_view{};
    const std::string_view note = text.empty() ? named() : text;
    std::string content;
    lib::JsonWriter out(content);
    out.object();
    if (const std::string task = task_name(); !task.empty()) {
      out.key("taskId").text(task);
    }
    switch (type_) {
      case Type::task:
        out.key("title").text(title_of(text));
        out.key("description").text(note);
        break;
      case Type::result: {
        const std::string_view outcome = word_for(outcomes, e_.status);
        out.key("status").plain(outcome.empty() ? "complete" : outcome);
        out.key("result").text(note);
        break;
      }
      case Type::status:
        out.key("notes").text(note);
        break;
      case Type::error:
        out.key("errorType").plain(e_.action == "request_timed_out" ? "timeout" : "failed");
        out.key("description").text(note);
        break;
    }
    if (text.empty()) {
      out.key("body").raw(e_.body.empty() ? "null" : e_.body);
    }
    out.end_object();
    return content;
  }

  // What it is called, where it has no title: by its own words, or by its kind.
  std::string_view named() const {
    return !e_.subject.empty()  ? e_.subject
           : !e_.action.empty() ? e_.action
           : !e_.type.empty()   ? e_.type
                                : word_for(types, type_);
  }

  std::string_view title_of(std::string_view text) const {
    return e_.subject.empty() && e_.action.empty() && !text.empty()
               ? base::cut(text, title_bytes_max)
               : named();
  }

  // A task without one has the message's id; what answers it, or tells of it, names it so.
  std::string task_name() const {
    if (!e_.task.empty() && e_.task.size() <= inbox_text_bytes_max) {
      return std::string(e_.task);
    }
    if (type_ == Type::task) {
      return id_in(Dialect::inbox, e_);
    }
    const bool answers = e_.kind == Kind::response || e_.kind == Kind::acknowledgement;
    if (!answers || e_.in_reply_to.is_none()) {
      return {};
    }
    return e_.question.empty() ? base::format_uuid(e_.in_reply_to) : std::string(e_.question);
  }

  void write_foreign() {
    begin_foreign(e_, out_);
    if (!e_.in_reply_to.is_none()) {
      out_.key("in_reply_to");
      write_id(e_.question, e_.in_reply_to);
    }
    write_foreign_text("reply_to", e_.reply_to);
    write_foreign_text("correlation", e_.correlation);
    write_foreign_text("causation", e_.causation);
    write_foreign_text("session", e_.session);
    write_foreign_text("action", e_.action);
    if (e_.status != Status::unset) {
      out_.key("status").plain(word_for(statuses, e_.status));
    }
    const bool is_text = e_.body.starts_with('"');
    if (e_.content_type != (is_text ? ContentType::text : ContentType::json)) {
      out_.key("content_type").plain(word_for(content_types, e_.content_type));
    }
    if (e_.priority == core::Priority::critical) {
      out_.key("priority").plain("critical");
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

std::string_view inbox_type(const Envelope& e) { return word_for(types, type_of(e)); }

std::optional<Codec::Meaning> inbox_meaning(std::string_view type) {
  const auto* const word = find_word(types, type);
  if (word == nullptr) {
    return std::nullopt;
  }
  switch (word->value) {
    case Type::task:
      return Codec::Meaning{Kind::request, false};
    case Type::result:
      return Codec::Meaning{Kind::response, false};
    case Type::status:
    case Type::error:
      return Codec::Meaning{Kind::notification, false};
  }
  return std::nullopt;
}

void encode_inbox(const Envelope& envelope, const EncodeContext& context, std::string& out) {
  Encoder(envelope, out).run(context);
}

std::string inbox_task(const Envelope& e) {
  lib::JsonDocument document;
  const auto body = document.parse(e.body);
  const auto content =
      body && body->is_object() ? read_content(Type::task, *body) : std::unexpected(Error{});
  return content ? std::string(content->task) : std::string();
}

std::string inbox_title(const Envelope& e) {
  std::string unused;
  return Encoder(e, unused).title();
}

std::string_view inbox_field(std::string_view canonical) {
  constexpr auto names =
      std::to_array<Word<std::string_view>>({{"/receiver", "/to"},
                                             {"/sender", "/from"},
                                             {"/in_reply_to", "/content/taskId"},
                                             {"/conversation_id", "/threadId"},
                                             {"/ttl", "/foreign/ttl"},
                                             {"/response_timeout", "/foreign/response_timeout"},
                                             {"/body", "/content"}});
  const auto* const word = find_word(names, canonical);
  return word == nullptr ? canonical : word->value;
}

}  // namespace parley::dialect
