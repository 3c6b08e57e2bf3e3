// SPDX-License-Identifier: Apache-2.0
// Holds the decoder to the published schema.
#include "dialect/schema_test.h"

#include <gtest/gtest.h>

#include <vector>

#include "dialect/squad/squad.h"

namespace parley::dialect {
namespace {

using base::Code;
using lib::JsonDocument;

const lib::JsonSchema& schema() {
  static const lib::JsonSchema squad(read_file("schemas/squad/message.schema.json"));
  return squad;
}

// Whether the decoder refused for a reason that no schema can express:
bool beyond_schema(const Error& error) {
  const auto says = [&](std::string_view text) {
    return error.detail.find(text) != std::string::npos;
  };
  return error.code == Code::sender_mismatch ||  // the sender is the token's principal
         error.code == Code::not_found ||        // what is answered must be there
         error.code == Code::conflict || says("twice") || has_long_characters(error) ||
         says("02-30") ||   // a date that does not exist
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
  const std::string_view from = message->find("from").as_string().value_or("planner");
  const DecodeContext context{.sender = from == "someone-else" ? "planner" : from,
                              .derive = derive_id,
                              .lookup = &any_message};
  const auto envelope = decode_squad(*message, context, texts);
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

std::vector<std::string> values() {
  std::vector<std::string> list = {"null",
                                   "true",
                                   "0",
                                   "1",
                                   "0.5",
                                   "24",
                                   "8785",
                                   "-1",
                                   "{}",
                                   "[]",
                                   "[1]",
                                   R"(["a"])",
                                   R"(["a",""])",
                                   R"({"task":"t"})",
                                   R"({"task":1})",
                                   R"({"result":"defend"})",
                                   R"({"result":"Defend","evidence":["e"]})",
                                   R"({"result":"completed"})",
                                   R"({"confidence":"65%"})",
                                   R"({"confidence":2})",
                                   R"({"external_action":true})",
                                   R"({"claim_challenged":"c","grounds":"g","evidence":"e"})",
                                   R"({"claim_challenged":"c","grounds":"g","evidence":[]})",
                                   R"([{"agent":"a","evidence":["e"]}])",
                                   R"([{"agent":1}])",
                                   R"({"dialect":"flow"})",
                                   R"({"dialect":"flow","wrapped":true})",
                                   R"({"stance":"defend"})",
                                   R"({"stance":"x"})",
                                   R"({"blocked_since":"2026-02-30T00:00:00Z"})",
                                   "18446744073709551615"};
  std::vector<std::string> texts = {"",
                                    " ",
                                    "x",
                                    "*",
                                    "topic:",
                                    "planner",
                                    "handoff",
                                    "query",
                                    "response",
                                    "challenge",
                                    "escalation",
                                    "ack",
                                    "P0",
                                    "P4",
                                    "pending",
                                    "completed",
                                    "revise",
                                    "defend",
                                    "DEFEND",
                                    "escalate",
                                    "minor",
                                    "critical",
                                    "65%",
                                    "100.0%",
                                    "100.5%",
                                    "099%",
                                    ".5%",
                                    "MSG-1",
                                    "MSG-20260201-043500-f7a2",
                                    "MSG-20260232-043500-f7a2",
                                    "unknown-1",
                                    "several-1",
                                    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
                                    "2026-01-01T00:00:00Z",
                                    "2026-02-30T00:00:00Z",
                                    "2026-01-01T00:00:00+01:00",
                                    "Gespräch"};
  for (const size_t size : {256, 257, 512, 513}) {
    texts.push_back(std::string(size, 'k'));
  }
  add_texts(list, texts);
  return list;
}

const SchemaTest squad_test{.folder = "tests/golden/squad",
                            .agree = agree,
                            .keys = {"id",
                                     "timestamp",
                                     "from",
                                     "to",
                                     "type",
                                     "priority",
                                     "subject",
                                     "body",
                                     "thread_id",
                                     "reply_to",
                                     "status",
                                     "ttl_hours",
                                     "foreign",
                                     "task",
                                     "context",
                                     "constraints",
                                     "deadline",
                                     "artifacts",
                                     "result",
                                     "summary",
                                     "notes",
                                     "evidence",
                                     "claim_challenged",
                                     "grounds",
                                     "requested_action",
                                     "severity",
                                     "reason",
                                     "positions",
                                     "debate_log",
                                     "recommended_action",
                                     "confidence",
                                     "blocked_since",
                                     "external_action",
                                     "stance",
                                     "x"},
                            .values = values(),
                            .parts = {"", "body", "body", "foreign"}};

// SQ-03, SQ-06
TEST(SquadSchema, AcceptsWhatTheDecoderAccepts) { squad_test.accepts_golden(); }

// SQ-03, SQ-06
TEST(SquadSchema, RefusesWhatTheDecoderRefuses) { squad_test.refuses_golden_errors(); }

// SQ-03, SQ-06
TEST(SquadSchema, AgreesWithTheDecoderOnMutatedMessages) {
  squad_test.agrees_on_mutated_messages(20261119);
}

// XD-01: what other dialects say fits the schema when it is written in squad.
TEST(SquadSchema, AcceptsWhatOtherDialectsSay) {
  const AnyMessage any_message;
  for (const Codec& other : codecs()) {
    const std::string folder = "tests/golden/" + std::string(other.name);
    for (const auto& [name, text] : golden_texts(folder, false)) {
      SCOPED_TRACE(folder + "/" + name);
      JsonDocument document;
      Texts texts;
      const auto message = document.parse(text);
      DecodeContext context{.sender = "planner", .derive = derive_id, .lookup = &any_message};
      for (const std::string_view key : {"from_agent", "from"}) {
        context.sender = message->find(key).as_string().value_or(context.sender);
      }
      context.fallback_id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
      const auto envelope = other.decode(*message, context, texts);
      ASSERT_TRUE(envelope);
      std::string out;
      encode_squad(*envelope, {.recipient = "worker"}, out);
      EXPECT_EQ(schema().fault(out), "") << out;
    }
  }
}

// XD-01: and what the broker says.
TEST(SquadSchema, AcceptsWhatTheBrokerSays) {
  Envelope notice;
  notice.id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
  notice.sender = "parley";
  notice.receivers = {"agent:main:main"};
  notice.type = "notification";
  notice.action = "delivery_failed";
  notice.in_reply_to = notice.id;
  notice.question = "MSG-20260201-043500-f7a2";
  notice.body = R"({"event":"delivery_failed","reason":"ttl_expired"})";
  std::string text;
  encode_squad(notice, {}, text);
  EXPECT_EQ(schema().fault(text), "") << text;
  EXPECT_NE(text.find(R"("reply_to":"MSG-20260201-043500-f7a2")"), std::string::npos);
  EXPECT_NE(text.find(R"("subject":"delivery_failed")"), std::string::npos);
}

}  // namespace
}  // namespace parley::dialect
