// SPDX-License-Identifier: Apache-2.0
// The golden inputs of tests/golden/inbox: NAME.json decodes and comes back; NAME.error.json holds
// a message and the error that it gets.
#include "dialect/inbox/inbox.h"

#include <gtest/gtest.h>

#include "dialect/golden_test.h"

namespace parley::dialect {
namespace {

using base::Code;
using core::Kind;
using core::Status;
using lib::Json;
using lib::JsonDocument;

const AnyMessage any_message;

DecodeContext planner() {
  return {.sender = "planner", .derive = derive_id, .lookup = &any_message};
}

struct Decoded {
  explicit Decoded(const std::string& text, const DecodeContext& context = planner(),
                   Dialect dialect = Dialect::inbox) {
    const auto message = document.parse(text);
    EXPECT_TRUE(message) << text;
    result = find_codec(dialect)->decode(*message, context, texts);
    EXPECT_TRUE(result || !result.error().detail.empty());
  }
  const Envelope& operator*() const { return *result; }
  const Envelope* operator->() const { return &*result; }

  JsonDocument document;
  Texts texts;
  std::expected<Envelope, Error> result = Envelope{};
};

Decoded golden(const std::string& name) {
  return Decoded(read_file("tests/golden/inbox/" + name + ".json"));
}

std::string encoded(const Envelope& envelope, Dialect dialect = Dialect::inbox) {
  std::string out;
  find_codec(dialect)->encode(envelope, {}, out);
  return out;
}

// One member of a message, in normal form; a content always as the text that it is read as.
std::string member(const std::string& message, std::string_view key) {
  JsonDocument document;
  const auto root = document.parse(message);
  EXPECT_TRUE(root) << message;
  const Json value = root->find(key);
  if (!value) {
    return "";
  }
  std::string out;
  if (key == "content" && value.is_object()) {
    lib::JsonWriter(out).text(value.raw());
    return out;
  }
  return normal_form(value);
}

// IN-02, IN-03: every type and field, and what inbox does not know: there and back loses nothing.
TEST(Inbox, GoldenMessagesComeBackAsTheyWere) {
  const auto texts = golden_texts("tests/golden/inbox", false);
  ASSERT_GE(texts.size(), 40u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    const Decoded message(text);
    ASSERT_TRUE(message.result) << message.result.error().detail;
    const std::string out = encoded(*message);
    JsonDocument document;
    const auto sent = document.parse(text);
    for (const auto& [key, value] : sent->members()) {
      EXPECT_EQ(member(out, key), member(text, key)) << key;
    }
    const Decoded again(out);
    ASSERT_TRUE(again.result) << again.result.error().detail;
    EXPECT_EQ(again->body, message->body);
    EXPECT_EQ(again->kind, message->kind);
    EXPECT_EQ(again->task, message->task);
    EXPECT_EQ(encoded(*again), out);
  }
}

// IN-05, IN-09: each refusal has its code, names the field, and says what was wanted.
TEST(Inbox, GoldenErrorsNameTheField) {
  const auto texts = golden_texts("tests/golden/inbox", true);
  ASSERT_GE(texts.size(), 80u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    expect_golden_error(text, decode_inbox, planner());
  }
}

// IN-03
TEST(Inbox, TaskIsMappedFieldByField) {
  const Decoded task = golden("task");
  ASSERT_TRUE(task.result);
  EXPECT_EQ(task->id, message_id_of(derive_id, "planner", "msg-1"));
  EXPECT_EQ(task->native_id, "msg-1");
  EXPECT_EQ(task->dialect, Dialect::inbox);
  EXPECT_EQ(task->kind, Kind::request);
  EXPECT_EQ(task->type, "task");
  EXPECT_EQ(task->priority, core::Priority::normal);
  EXPECT_EQ(task->receivers, std::vector<std::string_view>{"researcher"});
  EXPECT_EQ(task->thread, "thread-7");
  EXPECT_EQ(task->task, "task-7");
  EXPECT_EQ(task->subject, "Research MongoDB patterns");
  EXPECT_TRUE(task->body.starts_with('{')) << "the content is an object, though sent as text";
  EXPECT_EQ(task->ttl.us, 0);
  EXPECT_TRUE(task->in_reply_to.is_none());
}

// IN-03: to, content and type are enough; the priority is normal.
TEST(Inbox, SendMessageNeedsNoMore) {
  DecodeContext context = planner();
  context.received = base::Time{1'000'000};
  context.fallback_id.bytes.fill(7);
  const Decoded task(read_file("tests/golden/inbox/task_minimal.json"), context);
  ASSERT_TRUE(task.result) << task.result.error().detail;
  EXPECT_EQ(task->id, context.fallback_id);
  EXPECT_EQ(task->sender, "planner");
  EXPECT_EQ(task->created, context.received);
  EXPECT_EQ(task->priority, core::Priority::normal);
  EXPECT_EQ(task->thread, "");
}

// IN-03: a status and an error may be plain text, also one that only looks like JSON.
TEST(Inbox, PlainTextIsText) {
  for (const char* name : {"status_text", "status_text_number", "status_text_array",
                           "status_text_like_json", "error_text"}) {
    SCOPED_TRACE(name);
    const Decoded message = golden(name);
    ASSERT_TRUE(message.result) << message.result.error().detail;
    EXPECT_EQ(message->content_type, core::ContentType::text);
    EXPECT_TRUE(message->body.starts_with('"')) << message->body;
  }
  EXPECT_EQ(golden("status")->content_type, core::ContentType::json);
}

// IN-07: a result or an error with the taskId of a task answers it; a status follows it.
TEST(Inbox, ResultAnswersTheTask) {
  const base::MessageId asked = message_id_of(derive_id, "coordinator", "task-7");
  for (const auto& [name, status] :
       std::map<std::string, Status>{{"result", Status::success},
                                     {"result_partial", Status::partial},
                                     {"result_blocked", Status::declined},
                                     {"error", Status::error}}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(golden(name)->kind, Kind::response);
    EXPECT_EQ(golden(name)->status, status);
    EXPECT_EQ(golden(name)->in_reply_to, asked);
  }
  EXPECT_EQ(golden("status")->kind, Kind::notification);
  EXPECT_EQ(golden("status")->in_reply_to, asked);
  EXPECT_EQ(golden("result_unknown_task")->kind, Kind::notification);
  EXPECT_EQ(golden("error_text")->kind, Kind::notification);
  EXPECT_EQ(find_codec("inbox")->type(*golden("result_unknown_task")), "result");
  EXPECT_EQ(golden("foreign_answer")->in_reply_to,
            message_id_of(derive_id, "coordinator", "msg_original"));
}

// IN-08
TEST(Inbox, ContentIsUnderTenKilobytes) {
  for (const size_t bytes : {inbox_content_bytes - 1, inbox_content_bytes}) {
    const Decoded message(R"({"to":"w","type":"status","content":")" + std::string(bytes, 'x') +
                          "\"}");
    ASSERT_EQ(message.result.has_value(), bytes < inbox_content_bytes);
    if (!message.result) {
      EXPECT_EQ(message.result.error().code, Code::payload_too_large);
    }
  }
  DecodeContext small = planner();
  small.bytes_max = 5;
  EXPECT_FALSE(Decoded(R"({"to":"w","type":"status","content":"12345"})", small).result);
  EXPECT_TRUE(Decoded(R"({"to":"w","type":"status","content":"1234"})", small).result);
}

// XD-01: an inbox message goes to agents of the others in their words, and comes back as it was.
TEST(InboxAndOthers, InboxMessagesSurviveTheOthers) {
  for (const Dialect other : {Dialect::flow, Dialect::collab}) {
    for (const auto& [name, text] : golden_texts("tests/golden/inbox", false)) {
      SCOPED_TRACE(std::string(name_of(other)) + " " + name);
      if (name == "id_uuid_upper_case.json") {
        continue;  // the id is the same one, in lower case
      }
      DecodeContext context = planner();
      context.fallback_id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
      const Decoded message(text, context);
      ASSERT_TRUE(message.result);
      const std::string there = encoded(*message, other);
      const Decoded as_other(there, planner(), other);
      ASSERT_TRUE(as_other.result) << as_other.result.error().detail << "\n" << there;
      EXPECT_EQ(as_other->id, message->id);
      EXPECT_EQ(as_other->in_reply_to, message->in_reply_to);
      EXPECT_EQ(as_other->body, message->body);
      EXPECT_EQ(as_other->task, message->task);
      const std::string back = encoded(*as_other);
      const std::string wanted = encoded(*message);
      for (const std::string_view key : {"id", "from", "to", "content", "type", "threadId",
                                         "priority", "createdAt", "x-team", "a/b~c"}) {
        if (member(wanted, key) != "null") {  // null comes back as what it stands for
          EXPECT_EQ(member(back, key), member(wanted, key)) << key << "\n" << there;
        }
      }
      const Decoded again(back);
      ASSERT_TRUE(again.result) << again.result.error().detail << "\n" << back;
      EXPECT_EQ(again->kind, message->kind);
    }
  }
}

// `text` without the members `foreign`, at the top or in its metadata, in normal form.
std::string plain(const std::string& text) {
  JsonDocument document;
  const auto message = document.parse(text);
  EXPECT_TRUE(message) << text;
  std::string out;
  lib::JsonWriter writer(out);
  writer.object();
  for (const auto& [key, value] : message->members()) {
    if (key == "metadata") {
      writer.key(key).raw(plain(std::string(value.raw())));
    } else if (key != "foreign") {
      writer.key(key).raw(normal_form(value));
    }
  }
  writer.end_object();
  return normal_form(out);
}

// XD-01: and the other way around.
TEST(InboxAndOthers, TheOthersSurviveInbox) {
  for (const Dialect other : {Dialect::flow, Dialect::collab}) {
    const std::string folder = "tests/golden/" + std::string(name_of(other));
    for (const auto& [name, text] : golden_texts(folder, false)) {
      SCOPED_TRACE(folder + "/" + name);
      if (name == "id_uuid_upper_case.json" || name == "response_by_cause.json") {
        continue;  // the id is the same one; the causationId alone is not enough elsewhere
      }
      const Decoded message(text, planner(), other);
      ASSERT_TRUE(message.result);
      const std::string there = encoded(*message);
      const Decoded as_inbox(there);
      ASSERT_TRUE(as_inbox.result) << as_inbox.result.error().detail << "\n" << there;
      EXPECT_EQ(as_inbox->id, message->id);
      EXPECT_EQ(as_inbox->kind, message->kind) << there;
      EXPECT_EQ(as_inbox->in_reply_to, message->in_reply_to);
      EXPECT_EQ(as_inbox->durability, message->durability);
      EXPECT_EQ(as_inbox->status, message->status);
      EXPECT_EQ(as_inbox->priority, message->priority);
      const std::string back = encoded(*as_inbox, other);
      EXPECT_EQ(plain(back), plain(encoded(*message, other))) << there;
    }
  }
}

// XD-01: what is asked in another dialect is a task; its answer is a result or an error.
TEST(InboxAndOthers, TypesAreTheNearest) {
  const auto in_inbox = [](const std::string& name) {
    return encoded(*Decoded(read_file("tests/golden/flow/" + name), planner(), Dialect::flow));
  };
  EXPECT_EQ(member(in_inbox("request.json"), "type"), "\"task\"");
  EXPECT_EQ(member(in_inbox("query.json"), "type"), "\"task\"");
  EXPECT_EQ(member(in_inbox("response.json"), "type"), "\"result\"");
  EXPECT_EQ(member(in_inbox("notification.json"), "type"), "\"status\"");
  const Decoded response(read_file("tests/golden/flow/response.json"), planner(), Dialect::flow);
  Envelope failed = *response;  // views of it
  failed.status = Status::error;
  EXPECT_EQ(member(encoded(failed), "type"), "\"error\"");
  Envelope notice;
  notice.dialect = Dialect::flow;
  notice.sender = "parley";
  notice.receivers = {"planner"};
  notice.action = "message_malformed";
  notice.subject = "a message was malformed";
  notice.body = R"({"event":"message_malformed"})";
  EXPECT_EQ(member(encoded(notice), "type"), "\"error\"");
  notice.via = core::Via::http;  // an agent that only says so
  EXPECT_EQ(member(encoded(notice), "type"), "\"status\"");
}

// XD-01: a request that has no taskId is a task by its id, and can be answered by that.
TEST(InboxAndOthers, RequestIsATaskByItsId) {
  const Decoded request(
      R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"c","type":"request",)"
      R"("sender":"planner","receiver":"worker","payload":{"body":{"n":1}},"metadata":)"
      R"({"timestamp":"2026-01-01T00:00:00Z"}})",
      planner(), Dialect::flow);
  ASSERT_TRUE(request.result) << request.result.error().detail;
  JsonDocument document;
  JsonDocument inner;
  const std::string text = encoded(*request);
  const auto task = document.parse(text);
  const auto content = inner.parse(*task->find("content").as_string());
  ASSERT_TRUE(content);
  EXPECT_EQ(content->find("taskId").as_string(), "f47ac10b-58cc-4372-a567-0e02b2c3d479");
  EXPECT_EQ(content->find("body").raw(), R"({"n":1})");
}

// XD-01: a message that went to and fro does not grow.
TEST(InboxAndOthers, ToAndFroDoesNotGrow) {
  std::string text = encoded(*golden("unknown_members"));
  size_t after_first = 0;
  for (int round = 0; round < 4; ++round) {
    const std::string in_flow = encoded(*Decoded(text), Dialect::flow);
    text = encoded(*Decoded(in_flow, planner(), Dialect::flow));
    after_first = round == 0 ? text.size() : after_first;
    EXPECT_LE(text.size(), after_first + 16) << text;
  }
}

TEST(Inbox, TableOfCodecsFindsInbox) {
  EXPECT_EQ(find_codec("inbox"), find_codec(Dialect::inbox));
  EXPECT_EQ(find_codec("inbox")->field("/receiver"), "/to");
  EXPECT_EQ(find_codec("inbox")->field("/conversation_id"), "/threadId");
  EXPECT_EQ(find_codec("inbox")->field("/id"), "/id");
}

}  // namespace
}  // namespace parley::dialect
