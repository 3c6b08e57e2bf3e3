// SPDX-License-Identifier: Apache-2.0
// Holds the decoder to the published schema: both accept and refuse the same messages, but for
// what a schema cannot say. Those rules are the cases of beyond_schema().
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dialect/collab/collab.h"
#include "dialect/schema_test.h"

namespace parley::dialect {
namespace {

using base::Code;
using lib::JsonDocument;

const lib::JsonSchema& schema() {
  static const lib::JsonSchema collab(read_file("schemas/collab/message.schema.json"));
  return collab;
}

// Whether the decoder refused for a reason that no schema can express:
bool beyond_schema(const Error& error) {
  const auto says = [&](std::string_view text) {
    return error.detail.find(text) != std::string::npos;
  };
  const bool is_time = error.field == "/timestamp" || error.field == "/expiresAt";
  return error.code == Code::sender_mismatch ||            // the sender is the token's principal
         error.code == Code::payload_too_large ||          // the size of the whole text
         error.code == Code::not_found ||                  // what is answered must be there
         error.code == Code::conflict || says("twice") ||  // duplicate members
         has_long_characters(error) ||
         (is_time && (says("02-3") || says("02-29"))) ||  // a date that does not exist
         (is_time && says("is not past")) ||
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
  const AnyMessage any_message;
  const auto envelope = decode_collab(
      *message, {.sender = "planner", .derive = derive_id, .lookup = &any_message}, texts);
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

const std::vector<std::string>& values() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list = {"null",
                                     "true",
                                     "0",
                                     "1",
                                     "3",
                                     "4",
                                     "-1",
                                     "1.5",
                                     "{}",
                                     "[]",
                                     "[1]",
                                     R"(["worker"])",
                                     R"(["worker","b"])",
                                     R"(["worker","*"])",
                                     R"(["topic:x","b"])",
                                     R"(["*"])",
                                     R"(["topic:"])",
                                     R"(["",""])",
                                     "18446744073709551615"};
    for (const std::string member : {R"("status":"declined")",
                                     R"("status":"x")",
                                     R"("status":null)",
                                     R"("thread":"c")",
                                     R"("thread":"")",
                                     R"("ttl":"5m")",
                                     R"("ttl":"PT0S")",
                                     R"("ttl":5)",
                                     R"("wrapped":true)",
                                     R"("wrapped":1)",
                                     R"("confidence":0.5)",
                                     R"("confidence":-1)",
                                     R"("confidence":"x")",
                                     R"("receivers":["a"])",
                                     R"("receivers":[""])",
                                     R"("receivers":{})",
                                     R"("extra":{})",
                                     R"("extra":[])",
                                     R"("sequence_number":3)",
                                     R"("sequence_number":-3)",
                                     R"("sequence_number":1.5)",
                                     R"("in_reply_to":"msg_1")",
                                     R"("in_reply_to":1)",
                                     R"("on_timeout":"retry")",
                                     R"("on_timeout":"never")",
                                     R"("content_type":"json")",
                                     R"("content_type":[])",
                                     R"("requires_ack":false)",
                                     R"("requires_ack":"yes")",
                                     R"("y":[])",
                                     R"("type":"broadcast")",
                                     R"("type":false)",
                                     R"("response_timeout":"99999999999999999999h")"}) {
      list.push_back("{" + member + "}");
    }
    std::vector<std::string> texts = {"",
                                      "x",
                                      "*",
                                      "a.b",
                                      "topic:n",
                                      "topic:",
                                      "planner",
                                      "worker",
                                      "1.0",
                                      "2.0",
                                      "msg_1",
                                      "f47ac10b-58cc-4372-a567-0e02b2c3d479",
                                      "command",
                                      "query",
                                      "event",
                                      "response",
                                      "request",
                                      "2026-01-01T00:00:00Z",
                                      "2026-01-01T23:59:59.123456789+00:00",
                                      "2026-02-30T00:00:00Z",
                                      "2027-02-29T00:00:00Z",
                                      "2028-02-29T00:00:00Z",
                                      "1960-01-01T00:00:00Z",
                                      "2026-01-01T00:00:60Z",
                                      "2026-01-01T00:00:00+01:00"};
    for (const size_t size : {256, 257}) {
      texts.push_back(std::string(size, 'k'));
    }
    texts.push_back("Gespräch");
    add_texts(list, texts);
    return list;
  }();
  return all;
}

const SchemaTest collab_test{
    .folder = "tests/golden/collab",
    .agree = agree,
    .keys = {"id", "version", "from", "to", "replyTo", "type", "priority", "timestamp", "action",
             "payload", "expiresAt", "correlationId", "causationId", "sessionId", "foreign", "x"},
    .values = values()};

// CO-02
TEST(CollabSchema, AcceptsWhatTheDecoderAccepts) { collab_test.accepts_golden(); }

// CO-02
TEST(CollabSchema, RefusesWhatTheDecoderRefuses) { collab_test.refuses_golden_errors(); }

// CO-02
TEST(CollabSchema, AgreesWithTheDecoderOnMutatedMessages) {
  collab_test.agrees_on_mutated_messages(20261116);
}

}  // namespace
}  // namespace parley::dialect
