// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/text.h"
#include "dialect/foreign.h"
#include "dialect/inbox/fields.h"
#include "dialect/inbox/inbox.h"
#include "dialect/reading.h"

namespace parley::dialect {

namespace {

using namespace inbox;
using base::Code;
using core::ContentType;
using core::Kind;
using core::Status;
using lib::Json;

constexpr size_t summary_bytes_max = 120;

// What a content that must be JSON is made of.
std::string members_of(Type type) {
  return type == Type::task
             ? "taskId, title and description, and may have acceptanceCriteria and context"
             : "taskId, status and result, and may have artifacts, blockers and metrics";
}

// The member of a content that holds its text.
std::string_view text_key(Type type) {
  switch (type) {
    case Type::task:
    case Type::error:
      return "description";
    case Type::result:
      return "result";
    case Type::status:
      return "notes";
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const size_t first = text.find_first_not_of(space);
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(space) - first + 1);
}

class Decoder : MemberReader {
 public:
  Decoder(const DecodeContext& context, Texts& texts) : MemberReader(members, context, texts) {}

  std::expected<Envelope, Error> run(Json message) {
    if (!message.is_object()) {
      return std::unexpected(
          Error{Code::bad_request, "a message is a JSON object, found " + describe(message), {}});
    }
    const bool good = collect(message) && unknown_once() && read_words() && read_people() &&
                      read_body() && read_rest() && read_foreign_member() && read_answer();
    return finish(good, Field::traceparent, Field::tracestate);
  }

 private:
  bool read_words();
  bool read_people();
  bool read_body();
  bool read_json(std::string_view text);
  bool read_object(Json object, std::string_view text);
  bool read_rest();
  bool read_foreign_member();
  void unwrap_body();
  bool read_answer();
  bool fits(size_t bytes);

  Type type_ = Type::status;
  lib::JsonDocument inner_;    // of a content that is text
  Json content_;               // as an object, where it is one
  std::string_view answered_;  // what `foreign` says that this answers or follows
  std::optional<Kind> foreign_kind_;
};

bool Decoder::read_words() {
  Json type;
  if (!require(Field::type, false, one_of(types), type) ||
      !read_word(Field::type, type, types, type_) ||
      !read_word(Field::priority, given(Field::priority), levels, e_.priority)) {
    return false;
  }
  e_.type = word_for(types, type_);
  e_.dialect = Dialect::inbox;
  e_.kind = type_ == Type::task ? Kind::request : Kind::notification;
  e_.requires_ack = type_ == Type::task;
  return true;
}

bool Decoder::read_people() {
  Json to;
  std::string_view name;
  if (!require(Field::to, false, "an agent's id", to) ||
      !read_sender(Field::from, given(Field::from)) ||
      !read_text(Field::to, to, inbox_text_bytes_max, name)) {
    return false;
  }
  if (name == topic_prefix) {
    return wrong(Field::to, "an agent's id");
  }
  e_.receivers.push_back(name);
  if (type_ != Type::task && (name == everyone || name.starts_with(topic_prefix))) {
    e_.kind = Kind::broadcast;
  }
  return true;
}

bool Decoder::fits(size_t bytes) {
  const size_t limit = context_.bytes_max == 0 ? inbox_content_bytes : context_.bytes_max;
  return bytes < limit ||
         fail(Code::payload_too_large,
              "content: fewer than " + std::to_string(limit) +
                  " bytes are taken (inbox.content_bytes), found " + std::to_string(bytes) +
                  "; summarize it, or name a file that has the rest",
              fields[Field::content].pointer);
}

bool Decoder::read_body() {
  Json content;
  const std::string wanted =
      needs_json(type_) ? "the JSON of a " + std::string(e_.type) + ", as text or an object"
                        : std::string("text that is not empty, or an object");
  if (!require(Field::content, false, wanted, content)) {
    return false;
  }
  if (content.is_object()) {
    return fits(content.raw().size()) && read_object(content, content.raw());
  }
  const auto text = content.as_string();
  if (!text || trimmed(*text).empty()) {
    return wrong(Field::content, wanted);
  }
  if (!fits(text->size())) {
    return false;
  }
  if (needs_json(type_) || trimmed(*text).starts_with('{')) {
    return read_json(*text);
  }
  e_.content_type = ContentType::text;
  e_.body = content.raw();
  e_.subject = base::cut(*text, summary_bytes_max);
  return true;
}

// A status or an error that looks like JSON and is none is text.
bool Decoder::read_json(std::string_view text) {
  const auto parsed = inner_.parse(text);
  if (parsed && parsed->is_object()) {
    const std::string_view object = trimmed(text);
    if (object.size() != text.size()) {
      keep(Field::content);
    }
    return read_object(*parsed, object);
  }
  if (!needs_json(type_)) {
    e_.content_type = ContentType::text;
    e_.body = found(Field::content).raw();
    e_.subject = base::cut(text, summary_bytes_max);
    return true;
  }
  return fail(Code::validation_failed,
              "content: wanted the JSON of a " + std::string(e_.type) + ", an object, found " +
                  (parsed ? describe(*parsed) : "text that is no JSON: " + parsed.error().detail) +
                  "; it has " + members_of(type_),
              fields[Field::content].pointer);
}

bool Decoder::read_object(Json object, std::string_view text) {
  const auto content = read_content(type_, object);
  if (!content) {
    error_ = content.error();
    return false;
  }
  content_ = object;
  e_.body = text;
  e_.status = content->status;
  // The texts of a document of its own go with it.
  if (!content->task.empty()) {
    e_.task = texts_.emplace_back(content->task);
  }
  if (!content->summary.empty()) {
    e_.subject = texts_.emplace_back(base::cut(content->summary, summary_bytes_max));
  }
  return true;
}

bool Decoder::read_rest() {
  if (!read_any_id(Field::id, given(Field::id), inbox_text_bytes_max) ||
      !read_created(Field::created_at, given(Field::created_at)) ||
      !read_optional_text(Field::thread_id, inbox_text_bytes_max, e_.thread)) {
    return false;
  }
  std::string_view key;
  if (!read_optional_text(Field::idempotency_key, inbox_text_bytes_max, key)) {
    return false;
  }
  if (!key.empty()) {
    e_.idempotency_key = key_of(context_.derive, key);
    keep(Field::idempotency_key);
  }
  return true;
}

// What inbox has no member for. The receivers are its own only if they are of this very message,
// which went through inbox and comes back.
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
  // A query is a task as well, and what goes to a topic is a status.
  foreign_kind_ = take_kind(*foreign, Dialect::inbox, e_);
  answered_ = foreign->in_reply_to;
  e_.reply_to = foreign->reply_to;
  e_.correlation = foreign->correlation;
  e_.causation = foreign->causation;
  e_.session = foreign->session;
  e_.action = foreign->action;
  e_.subject = foreign->subject.empty() && !foreign->wrapped ? e_.subject : foreign->subject;
  e_.task = !foreign->task.empty() ? foreign->task
            : foreign->wrapped     ? std::string_view{}
                                   : e_.task;
  e_.confidence_ppm = confidence_of(*foreign, e_.kind);
  e_.needs_approval = foreign->needs_approval.value_or(e_.needs_approval);
  e_.is_recoverable = foreign->is_recoverable;
  take_dispute(*foreign, e_);
  e_.sequence_number = foreign->sequence_number;
  e_.response_timeout = foreign->response_timeout;
  e_.ttl = foreign->ttl;
  e_.on_timeout = foreign->on_timeout.value_or(e_.on_timeout);
  e_.requires_ack = foreign->requires_ack.value_or(asks(e_.kind));
  if (foreign->priority == core::Priority::critical && e_.priority == core::Priority::high) {
    e_.priority = core::Priority::critical;
  }
  e_.status = foreign->status.value_or(e_.status);
  if (foreign->wrapped) {
    unwrap_body();
  }
  e_.content_type = foreign->content_type.value_or(e_.content_type);
  if (is_id_of(foreign->id, e_.id, e_.sender, context_.derive) && foreign->receivers.size() > 1) {
    e_.receivers = std::move(foreign->receivers);
  }
  if (e_.receivers.front() == everyone && foreign_kind_ && !asks(e_.kind) && !e_.requires_ack) {
    e_.durability = core::Durability::memory;
  }
  return true;
}

// As encode_inbox wraps it: the member `body`, or the text that stands for it.
void Decoder::unwrap_body() {
  if (!content_) {
    return;
  }
  const Json body = content_.find("body");
  const Json text = content_.find(text_key(type_));
  keep(Field::content);
  if (body) {
    e_.body = texts_.emplace_back(body.raw());
  } else if (text && text.as_string()) {
    lib::append_json_string(texts_.emplace_back(), *text.as_string());
    e_.body = texts_.back();
  }
  e_.content_type = e_.body.starts_with('"') ? ContentType::text : ContentType::json;
}

// A result, and an error in a task, answer what gave the task to their sender.
bool Decoder::read_answer() {
  if (!answered_.empty()) {
    if (const auto uuid = base::parse_uuid(answered_); uuid && !uuid->is_none()) {
      e_.in_reply_to = *uuid;
    } else if (context_.lookup != nullptr) {
      const auto found = context_.lookup->find_received(answered_, e_.receivers);
      if (!found) {
        return fail(found.error().code, "in_reply_to: " + found.error().detail,
                    "/foreign/in_reply_to");
      }
      e_.in_reply_to = *found;
      e_.question = answered_;
    }
  } else if (type_ != Type::task && !e_.task.empty() && context_.lookup != nullptr) {
    e_.in_reply_to =
        context_.lookup->find_task(e_.task, e_.receivers, e_.thread).value_or(base::MessageId{});
  }
  const bool answers = (type_ == Type::result || type_ == Type::error) &&
                       !e_.in_reply_to.is_none() &&
                       foreign_kind_.value_or(Kind::response) == Kind::response;
  if (answers) {
    e_.kind = Kind::response;
    e_.status = e_.status != Status::unset ? e_.status
                : type_ == Type::error     ? Status::error
                                           : Status::success;
  } else {
    e_.status = Status::unset;
  }
  return true;
}

}  // namespace

std::expected<Envelope, Error> decode_inbox(lib::Json message, const DecodeContext& context,
                                            Texts& texts) {
  CHECK(context.derive != nullptr);
  return Decoder(context, texts).run(message);
}

}  // namespace parley::dialect
