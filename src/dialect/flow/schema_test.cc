// SPDX-License-Identifier: Apache-2.0
// Holds the decoder to the published schema: both accept and refuse the same messages, but for
// what a schema cannot say. Those rules are the cases of beyond_schema().
#include <gtest/gtest.h>

#include <vector>

#include "dialect/flow/flow.h"
#include "dialect/schema_test.h"

namespace parley::dialect {
namespace {

using base::Code;
using lib::JsonDocument;

const lib::JsonSchema& schema() {
  static const lib::JsonSchema flow(read_file("schemas/flow/message.schema.json"));
  return flow;
}

base::Id128 hash_of(std::string_view, std::string_view) { return base::Id128{.bytes = {1}}; }

// Whether the decoder refused for a reason that no schema can express:
bool beyond_schema(const Error& error) {
  const auto says = [&](std::string_view text) {
    return error.detail.find(text) != std::string::npos;
  };
  return error.code == Code::sender_mismatch ||    // the sender is the token's principal
         error.code == Code::payload_too_large ||  // the size of the payload's text
         says("twice") ||                          // duplicate members
         says("leave the one outside") ||          // two spellings that disagree
         has_long_characters(error) ||
         (error.field == "/metadata/timestamp" && says("02-3")) ||  // a date that does not exist
         (error.field == "/metadata/timestamp" && says("02-29")) ||
         says("99999999");  // a duration beyond 64 bits of microseconds
}

// Compares the two on `text`, which is JSON. Returns whether it was accepted.
bool agree(const std::string& text) {
  JsonDocument document;
  const auto message = document.parse(text);
  if (!message) {
    ADD_FAILURE() << message.error().detail;
    return false;
  }
  Texts texts;
  const auto envelope = decode_flow(*message, {.sender = "planner", .derive = hash_of}, texts);
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

const std::vector<std::string>& keys() {
  static const std::vector<std::string> all = {"id",
                                               "conversation_id",
                                               "type",
                                               "priority",
                                               "sender",
                                               "receiver",
                                               "status",
                                               "on_timeout",
                                               "idempotency_key",
                                               "requires_ack",
                                               "in_reply_to",
                                               "response_timeout",
                                               "payload",
                                               "metadata",
                                               "content_type",
                                               "body",
                                               "timestamp",
                                               "ttl",
                                               "sequence_number",
                                               "correlation_id",
                                               "foreign",
                                               "x"};
  return all;
}

const std::vector<std::string>& values() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list = {"null",
                                     "true",
                                     "false",
                                     "0",
                                     "7",
                                     "-1",
                                     "1.5",
                                     "{}",
                                     "[]",
                                     "[1]",
                                     R"({"body":{}})",
                                     R"({"body":"x"})",
                                     R"({"timestamp":"2026-01-01T00:00:00Z"})",
                                     "18446744073709551615"};
    std::vector<std::string> texts = {"",
                                      "x",
                                      "*",
                                      "a.b",
                                      "a..b",
                                      ".a",
                                      "a.",
                                      "a b.c",
                                      "topic:n",
                                      "topic:",
                                      "planner",
                                      "f47ac10b-58cc-4372-a567-0e02b2c3d479",
                                      "F47AC10B-58CC-4372-B567-0E02B2C3D479",
                                      "f47ac10b-58cc-1372-a567-0e02b2c3d479",
                                      "f47ac10b-58cc-4372-7567-0e02b2c3d479",
                                      "f47ac10b-58cc-4372-a567-0e02b2c3d47",
                                      "f47ac10b58cc4372a5670e02b2c3d479",
                                      "00000000-0000-0000-0000-000000000000",
                                      "2026-01-01T00:00:00Z",
                                      "2026-01-01T23:59:59.123456789+00:00",
                                      "2026-02-30T00:00:00Z",
                                      "2027-02-29T00:00:00Z",
                                      "2028-02-29T00:00:00Z",
                                      "2026-01-01T00:00:60Z",
                                      "2026-01-01T00:00:00",
                                      "2026-01-01T00:00:00+01:00",
                                      "2026-1-01T00:00:00Z",
                                      "5m",
                                      "0m",
                                      "007s",
                                      "5",
                                      "5d",
                                      "1us",
                                      "72h",
                                      "-5m",
                                      "PT5M",
                                      "P1DT2H",
                                      "P1W",
                                      "PT0S",
                                      "PT0.5S",
                                      "PT0.5M",
                                      "P1M",
                                      "P",
                                      "PT",
                                      "P1DT",
                                      "PT1S1M",
                                      "99999999999999999999h"};
    for (const std::string word :
         {"request", "response", "notification", "broadcast", "query", "critical", "high", "normal",
          "low", "text", "json", "artifact_ref", "success", "partial", "error", "declined", "retry",
          "escalate", "fail"}) {
      texts.push_back(word);
    }
    for (const size_t size : {200, 201, 256, 257}) {
      texts.push_back(std::string(size, 'k'));
    }
    texts.push_back("Gespräch");
    add_texts(list, texts);
    return list;
  }();
  return all;
}

const SchemaTest flow_test{.folder = "tests/golden/flow",
                           .agree = agree,
                           .keys = keys(),
                           .values = values(),
                           .parts = {"", "payload", "metadata"}};

// FL-02
TEST(FlowSchema, AcceptsWhatTheDecoderAccepts) { flow_test.accepts_golden(); }

// FL-02
TEST(FlowSchema, RefusesWhatTheDecoderRefuses) { flow_test.refuses_golden_errors(); }

// FL-02
TEST(FlowSchema, AgreesWithTheDecoderOnMutatedMessages) {
  flow_test.agrees_on_mutated_messages(20260716);
}

}  // namespace
}  // namespace parley::dialect
