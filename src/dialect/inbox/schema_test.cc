// SPDX-License-Identifier: Apache-2.0
// Holds the decoder to the published schemas, of the message and of the content of each type.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "dialect/inbox/inbox.h"
#include "dialect/schema_test.h"

namespace parley::dialect {
namespace {

using base::Code;
using lib::JsonDocument;

const lib::JsonSchema& schema(const std::string& name) {
  static std::map<std::string, lib::JsonSchema> all;
  return all.try_emplace(name, read_file("schemas/inbox/" + name + ".schema.json")).first->second;
}

// Whether the decoder refused for a reason that no schema can express:
bool beyond_schema(const Error& error) {
  const auto says = [&](std::string_view text) {
    return error.detail.find(text) != std::string::npos;
  };
  return error.code == Code::sender_mismatch ||    // the sender is the token's principal
         error.code == Code::payload_too_large ||  // the size of the content
         error.code == Code::not_found ||          // what is answered must be there
         error.code == Code::conflict || says("twice") || has_long_characters(error) ||
         (error.field == "/createdAt" && (says("02-3") || says("02-29"))) ||
         says("99999999");  // a duration beyond 64 bits of microseconds
}

// What the schema of its type says of the content: nothing of one that may be text and is.
std::string content_fault(lib::Json message) {
  const auto type = message.find("type").as_string();
  const lib::Json content = message.find("content");
  std::string text(content.as_string().value_or(content.raw()));
  JsonDocument document;
  const auto parsed = document.parse(text);
  const bool is_object = parsed && parsed->is_object();
  if (!is_object && (*type == "status" || *type == "error")) {
    return {};
  }
  return is_object ? schema(std::string(*type)).fault(text) : "no JSON object";
}

bool agree(const std::string& text) {
  JsonDocument document;
  const auto message = document.parse(text);
  if (!message) {
    ADD_FAILURE() << message.error().detail;
    return false;
  }
  Texts texts;
  const AnyMessage any_message;
  const auto envelope = decode_inbox(
      *message, {.sender = "planner", .derive = derive_id, .lookup = &any_message}, texts);
  std::string fault = schema("message").fault(text);
  if (fault.empty()) {
    fault = content_fault(*message);
  }
  if (envelope) {
    EXPECT_EQ(fault, "") << text;
  } else if (fault.empty() && !beyond_schema(envelope.error())) {
    ADD_FAILURE() << "only the decoder refuses: " << envelope.error().detail << " at "
                  << envelope.error().field << "\n"
                  << text;
  }
  return envelope.has_value();
}

std::vector<std::string> values() {
  std::vector<std::string> list = {"null",
                                   "true",
                                   "false",
                                   "0",
                                   "1",
                                   "60",
                                   "100",
                                   "101",
                                   "-1",
                                   "1.5",
                                   "99.5",
                                   "{}",
                                   "[]",
                                   "[1]",
                                   R"(["a"])",
                                   R"(["a",null])",
                                   R"({"constraints":["a"]})",
                                   R"({"constraints":"a"})",
                                   R"({"tokensUsed":1})",
                                   R"({"tokensUsed":1.5})",
                                   R"({"timeSpent":1})",
                                   R"({"previousResults":[]})",
                                   R"({"previousResults":null})",
                                   R"({"priority":"critical"})",
                                   R"({"priority":"x"})",
                                   R"({"in_reply_to":"msg_1"})",
                                   R"({"in_reply_to":1})",
                                   R"({"wrapped":true})",
                                   R"({"ttl":"5m"})",
                                   R"({"ttl":"0s"})",
                                   R"({"type":"query"})",
                                   "18446744073709551615",
                                   "9223372036854775808"};
  std::vector<std::string> texts = {"",
                                    "x",
                                    "*",
                                    "topic:",
                                    "topic:n",
                                    "planner",
                                    "task",
                                    "result",
                                    "status",
                                    "error",
                                    "request",
                                    "high",
                                    "normal",
                                    "low",
                                    "critical",
                                    "complete",
                                    "partial",
                                    "blocked",
                                    "failed",
                                    "timeout",
                                    "done",
                                    "msg_1",
                                    "unknown-1",
                                    "several-1",
                                    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
                                    "2026-01-01T00:00:00Z",
                                    "2026-02-30T00:00:00Z",
                                    "2026-01-01T00:00:00+01:00",
                                    "Gespräch",
                                    "{",
                                    "[1]",
                                    "{}",
                                    "null",
                                    R"({"taskId":"t","title":"T","description":"D"})",
                                    R"({"taskId":"t","status":"complete","result":"r"})",
                                    R"({"errorType":"failed","description":"d"})",
                                    R"({"progress":12,"notes":"n"})"};
  for (const size_t size : {256, 257}) {
    texts.push_back(std::string(size, 'k'));
  }
  add_texts(list, texts);
  return list;
}

const SchemaTest inbox_test{.folder = "tests/golden/inbox",
                            .agree = agree,
                            .keys = {"id",
                                     "from",
                                     "to",
                                     "content",
                                     "type",
                                     "threadId",
                                     "priority",
                                     "createdAt",
                                     "idempotencyKey",
                                     "foreign",
                                     "taskId",
                                     "title",
                                     "description",
                                     "acceptanceCriteria",
                                     "context",
                                     "status",
                                     "result",
                                     "artifacts",
                                     "blockers",
                                     "metrics",
                                     "progress",
                                     "notes",
                                     "errorType",
                                     "recoverable",
                                     "x",
                                     "currentPhase"},
                            .values = values(),
                            .parts = {"", "content"}};

// IN-05
TEST(InboxSchema, AcceptsWhatTheDecoderAccepts) { inbox_test.accepts_golden(); }

// IN-05
TEST(InboxSchema, RefusesWhatTheDecoderRefuses) { inbox_test.refuses_golden_errors(); }

// IN-05
TEST(InboxSchema, AgreesWithTheDecoderOnMutatedMessages) {
  inbox_test.agrees_on_mutated_messages(20261117);
}

// XD-01: what other dialects say fits the schemas when it is written in inbox.
TEST(InboxSchema, AcceptsWhatOtherDialectsSay) {
  const AnyMessage any_message;
  for (const Dialect other : {Dialect::flow, Dialect::collab}) {
    const std::string folder = "tests/golden/" + std::string(name_of(other));
    for (const auto& [name, text] : golden_texts(folder, false)) {
      SCOPED_TRACE(folder + "/" + name);
      JsonDocument document;
      Texts texts;
      const auto message = document.parse(text);
      const auto envelope = find_codec(other)->decode(
          *message, {.sender = "planner", .derive = derive_id, .lookup = &any_message}, texts);
      ASSERT_TRUE(envelope);
      std::string out;
      encode_inbox(*envelope, {.recipient = "worker"}, out);
      EXPECT_TRUE(agree(out)) << out;
    }
  }
}

}  // namespace
}  // namespace parley::dialect
