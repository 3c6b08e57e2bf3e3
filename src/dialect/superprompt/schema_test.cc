// SPDX-License-Identifier: Apache-2.0
// Holds the decoder to the published schema.
#include "dialect/schema_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dialect/superprompt/superprompt.h"

namespace parley::dialect {
namespace {

using base::Code;
using lib::JsonDocument;

const lib::JsonSchema& schema() {
  static const lib::JsonSchema superprompt(read_file("schemas/superprompt/message.schema.json"));
  return superprompt;
}

// Whether the decoder refused for a reason that no schema can express:
bool beyond_schema(const Error& error) {
  const auto says = [&](std::string_view text) {
    return error.detail.find(text) != std::string::npos;
  };
  return error.code == Code::sender_mismatch ||    // the sender is the token's principal
         error.code == Code::forbidden ||          // what only the broker writes
         error.code == Code::payload_too_large ||  // the size of the whole
         error.code == Code::not_found ||          // what is answered must be there
         error.code == Code::conflict || says("twice") || has_long_characters(error) ||
         says("02-30") ||  // a date that does not exist
         says("wanted the message_id of the delegation that in_reply_to names") ||
         says("99999999");  // a duration beyond 64 bits of microseconds
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
  const std::string_view from = message->find("from_agent").as_string().value_or("planner");
  const DecodeContext context{.sender = from == "someone-else" ? "planner" : from,
                              .derive = derive_id,
                              .lookup = &any_message};
  const auto envelope = decode_superprompt(*message, context, texts);
  const std::string fault = schema().fault(text);
  if (envelope) {
    EXPECT_EQ(fault, "") << text;
  } else if (fault.empty() && !beyond_schema(envelope.error())) {
    ADD_FAILURE() << "only the decoder refuses: " << envelope.error().detail << " at "
                  << envelope.error().field << "\n"
                  << text;
  }
  return envelope.has_value();
}

// What the broker writes and agents only read.
void expect_fits(const std::string& text) { EXPECT_EQ(schema().fault(text), "") << text; }

std::vector<std::string> values() {
  std::vector<std::string> list = {"null",
                                   "true",
                                   "false",
                                   "0",
                                   "1",
                                   "0.5",
                                   "300",
                                   "86401",
                                   "-1",
                                   "1.5",
                                   "{}",
                                   "[]",
                                   "[1]",
                                   R"(["a"])",
                                   R"(["approve"])",
                                   R"(["approve","approve",null])",
                                   R"([{"action_type":"a"}])",
                                   R"([{"action_type":""}])",
                                   R"([{"action_type":"a","confidence":2}])",
                                   R"({"description":"d"})",
                                   R"({"description":"d","priority":"normal"})",
                                   R"({"description":"d","timeout_seconds":0})",
                                   R"({"event_type":"e"})",
                                   R"({"event_type":"e","event_id":""})",
                                   R"({"error_type":"t","error_message":"m"})",
                                   R"({"error_type":"t"})",
                                   R"({"severity":"high","violation_type":"spam"})",
                                   R"({"severity":"x","violation_type":"spam"})",
                                   R"({"user":{"login":1}})",
                                   R"({"content":{"labels":["a"]}})",
                                   R"({"content":{"created_at":"2026-02-30T00:00:00Z"}})",
                                   R"({"tokens_used":-1})",
                                   R"({"coc_concern":1})",
                                   R"({"dialect":"flow"})",
                                   R"({"dialect":"flow","wrapped":true})",
                                   R"({"needs_approval":"answer"})",
                                   R"({"needs_approval":"x"})",
                                   R"({"ttl":"0s"})",
                                   "18446744073709551615",
                                   "9223372036854775808"};
  std::vector<std::string> texts = {"",
                                    "x",
                                    "*",
                                    "topic:",
                                    "planner",
                                    "task_delegation",
                                    "task_completion",
                                    "hitl_approval_request",
                                    "coc_violation_flag",
                                    "agent_health_check",
                                    "timeout_extension_request",
                                    "system_notice",
                                    "hitl_approval_decision",
                                    "high",
                                    "medium",
                                    "success",
                                    "failure",
                                    "requires_approval",
                                    "healthy",
                                    "error",
                                    "PRIVATE_TO_MODERATORS",
                                    "msg-1",
                                    "unknown-1",
                                    "several-1",
                                    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
                                    "2026-01-01T00:00:00Z",
                                    "2026-02-30T00:00:00Z",
                                    "2026-01-01T00:00:00+01:00",
                                    "Gespräch"};
  for (const size_t size : {256, 257, 1'000, 1'001}) {
    texts.push_back(std::string(size, 'k'));
  }
  add_texts(list, texts);
  return list;
}

const SchemaTest superprompt_test{.folder = "tests/golden/superprompt",
                                  .agree = agree,
                                  .keys = {"message_type",
                                           "message_id",
                                           "in_reply_to",
                                           "timestamp",
                                           "from_agent",
                                           "to_agent",
                                           "foreign",
                                           "event_context",
                                           "task",
                                           "context",
                                           "repository_context",
                                           "task_id",
                                           "status",
                                           "confidence_score",
                                           "execution_time_ms",
                                           "actions_taken",
                                           "rationale",
                                           "requires_human_review",
                                           "next_steps",
                                           "flags",
                                           "metrics",
                                           "error",
                                           "approval_needed_for",
                                           "priority",
                                           "timeout_hours",
                                           "proposed_action",
                                           "confidence",
                                           "human_decision_options",
                                           "privacy_level",
                                           "violation",
                                           "performance_metrics",
                                           "issues",
                                           "requested_seconds",
                                           "reason",
                                           "description",
                                           "timeout_seconds",
                                           "requires_hitl",
                                           "event_type",
                                           "event_id",
                                           "severity",
                                           "body",
                                           "x"},
                                  .values = values(),
                                  .parts = {"", "", "task", "event_context", "context", "error",
                                            "violation", "metrics", "performance_metrics"}};

// SP-01, SP-03, SP-04
TEST(SuperpromptSchema, AcceptsWhatTheDecoderAccepts) { superprompt_test.accepts_golden(); }

// SP-01, SP-03, SP-04
TEST(SuperpromptSchema, RefusesWhatTheDecoderRefuses) { superprompt_test.refuses_golden_errors(); }

// SP-01, SP-03, SP-04
TEST(SuperpromptSchema, AgreesWithTheDecoderOnMutatedMessages) {
  superprompt_test.agrees_on_mutated_messages(20261118);
}

// XD-01: what other dialects say fits the schema when it is written in superprompt.
TEST(SuperpromptSchema, AcceptsWhatOtherDialectsSay) {
  const AnyMessage any_message;
  for (const Dialect other : {Dialect::flow, Dialect::collab, Dialect::inbox}) {
    const std::string folder = "tests/golden/" + std::string(name_of(other));
    for (const auto& [name, text] : golden_texts(folder, false)) {
      SCOPED_TRACE(folder + "/" + name);
      JsonDocument document;
      Texts texts;
      const auto message = document.parse(text);
      DecodeContext context{.sender = "planner", .derive = derive_id, .lookup = &any_message};
      context.fallback_id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
      const auto envelope = find_codec(other)->decode(*message, context, texts);
      ASSERT_TRUE(envelope);
      std::string out;
      encode_superprompt(*envelope, {.recipient = "worker"}, out);
      expect_fits(out);
    }
  }
}

// SP-08: and what the broker says.
TEST(SuperpromptSchema, AcceptsWhatTheBrokerSays) {
  Envelope notice;
  notice.id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
  notice.sender = "parley";
  notice.receivers = {"triage"};
  notice.type = "notification";
  notice.action = "approval_decided";
  notice.body =
      R"({"approval":7,"message_id":"m","decision":"approved","decided_by":"mia","summary":"s"})";
  std::string decision;
  encode_superprompt(notice, {}, decision);
  expect_fits(decision);
  notice.action = "delivery_failed";
  std::string other;
  encode_superprompt(notice, {}, other);
  expect_fits(other);
}

}  // namespace
}  // namespace parley::dialect
