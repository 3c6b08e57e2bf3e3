// SPDX-License-Identifier: Apache-2.0
// The golden inputs of tests/golden/flow: NAME.json decodes and comes back; NAME.error.json holds a
// message and the error that it gets.
#include "dialect/flow/flow.h"

#include <gtest/gtest.h>

#include <map>

#include "base/trace.h"
#include "dialect/golden_test.h"
#include "dialect/iso8601.h"
#include "lib/json_writer.h"

namespace parley::dialect {
namespace {

using base::Code;
using lib::Json;
using lib::JsonDocument;

DecodeContext planner() { return {.sender = "planner", .derive = derive_id}; }

std::map<std::string, std::string> golden(bool errors) {
  return golden_texts("tests/golden/flow", errors);
}

// Adds the members that encode writes although the sender left them out: the defaults.
std::string with_defaults(Json message) {
  std::string out;
  lib::JsonWriter writer(out);
  const std::string_view type = *message.find("type").as_string();
  const bool asks = type == "request" || type == "query";
  const auto copy = [&](Json object, std::string_view but = {}, std::string_view or_but = {}) {
    for (const auto& [key, value] : object.members()) {
      if (key != but && key != or_but) {
        writer.key(key).raw(value.raw());
      }
    }
  };
  writer.object();
  copy(message, "payload", "metadata");
  if (!message.find("priority")) {
    writer.key("priority").text("normal");
  }
  if (type == "response" && !message.find("status")) {
    writer.key("status").text("success");
  }
  if (asks && !message.find("on_timeout")) {
    writer.key("on_timeout").text("fail");
  }
  const Json payload = message.find("payload");
  writer.key("payload").object();
  copy(payload);
  if (!payload.find("content_type")) {
    writer.key("content_type").text(payload.find("body").is_object() ? "json" : "text");
  }
  writer.end_object().key("metadata").object();
  copy(message.find("metadata"));
  if (!message.find("metadata").find("requires_ack") && !message.find("requires_ack")) {
    writer.key("requires_ack").boolean(asks);
  }
  writer.end_object().end_object();
  return out;
}

// FL-01: every field, every type, and what flow does not know: there and back again loses nothing.
TEST(Flow, GoldenMessagesComeBackAsTheyWere) {
  const auto texts = golden(false);
  ASSERT_GE(texts.size(), 35u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    JsonDocument document;
    JsonDocument again_document;
    Texts made;
    const auto message = document.parse(text);
    ASSERT_TRUE(message);
    const auto envelope = decode_flow(*message, planner(), made);
    if (!envelope) {
      ADD_FAILURE() << envelope.error().detail << " at " << envelope.error().field;
      continue;
    }
    std::string out;
    encode_flow(*envelope, {}, out);
    EXPECT_EQ(normal_form(out), normal_form(with_defaults(*message)));
    EXPECT_EQ(envelope->body, message->find("payload").find("body").raw());
    const auto again = again_document.parse(out);
    ASSERT_TRUE(again) << out;
    EXPECT_EQ(decode_flow(*again, planner(), made), *envelope);
  }
}

// FL-02: each refusal has its code, names the field, and says what was wanted.
TEST(Flow, GoldenErrorsNameTheField) {
  const auto texts = golden(true);
  ASSERT_GE(texts.size(), 90u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    expect_golden_error(text, decode_flow, planner());
  }
}

struct Decoded {
  explicit Decoded(const std::string& text, const DecodeContext& context = planner()) {
    const auto message = document.parse(text);
    EXPECT_TRUE(message);
    result = decode_flow(*message, context, texts);
  }
  JsonDocument document;
  Texts texts;
  std::expected<Envelope, Error> result = Envelope{};
};

std::string golden_text(const std::string& name) { return read_file("tests/golden/flow/" + name); }

// FL-01
TEST(Flow, RequestIsMappedFieldByField) {
  const Decoded decoded(golden_text("request.json"));
  ASSERT_TRUE(decoded.result);
  const Envelope& e = *decoded.result;
  EXPECT_EQ(base::format_uuid(e.id), "f47ac10b-58cc-4372-a567-0e02b2c3d479");
  EXPECT_EQ(e.dialect, Dialect::flow);
  EXPECT_EQ(e.kind, core::Kind::request);
  EXPECT_EQ(e.type, "request");
  EXPECT_EQ(e.thread, "conv-7");
  EXPECT_EQ(e.sender, "planner");
  EXPECT_EQ(e.receivers, std::vector<std::string_view>{"coder"});
  EXPECT_EQ(e.response_timeout, base::minutes(10));
  EXPECT_EQ(e.on_timeout, core::OnTimeout::retry);
  EXPECT_EQ(e.ttl, base::hours(1));
  EXPECT_TRUE(e.requires_ack);
  EXPECT_EQ(e.sequence_number, 3u);
  EXPECT_EQ(e.correlation, "release-9");
  EXPECT_EQ(base::format_time(e.created), "2026-11-15T21:06:53.042Z");
  EXPECT_EQ(e.idempotency_key, key_of(derive_id, "attempt-1 of T-042"));
  EXPECT_EQ(e.extra, R"({"/idempotency_key":"attempt-1 of T-042"})");
  EXPECT_EQ(e.durability, core::Durability::disk);
}

// FL-01: a text is kept with its quotes and escapes, whatever they are.
TEST(Flow, BodyIsCopiedNotWrittenAnew) {
  const Decoded spaced(golden_text("body_spacing.json"));
  ASSERT_TRUE(spaced.result);
  EXPECT_EQ(spaced.result->body,
            "{ \"n\" : 1.50e+02, \"list\" : [ 1 , 2 ],\n     \"s\" : \"\\u0041\\/\" }");
  const Decoded text(golden_text("notification.json"));
  ASSERT_TRUE(text.result);
  EXPECT_EQ(text.result->content_type, core::ContentType::text);
  EXPECT_EQ(text.result->body, "\"Task T-042 is in progress\"");
}

// FL-14: a broadcast to everyone is fire and forget, a roll call is not.
TEST(Flow, BroadcastToEveryoneIsFireAndForgetUnlessRollCall) {
  EXPECT_EQ(Decoded(golden_text("broadcast_everyone.json")).result->durability,
            core::Durability::memory);
  const Decoded roll_call(golden_text("broadcast_in_words.json"));
  EXPECT_EQ(roll_call.result->receivers, std::vector<std::string_view>{"*"});
  EXPECT_EQ(roll_call.result->durability, core::Durability::disk);
  EXPECT_EQ(Decoded(golden_text("broadcast_topic.json")).result->durability,
            core::Durability::disk);
}

// FL-02: 1 MB is 1,048,576 bytes of the payload's text.
TEST(Flow, PayloadOfOneMegabyteIsTakenAndOneByteMoreIsNot) {
  const std::string empty = R"({"content_type":"text","body":""})";
  for (const size_t bytes : {flow_payload_bytes_max, flow_payload_bytes_max + 1}) {
    std::string text = golden_text("broadcast_topic.json");
    const size_t start = text.find("\"payload\": {") + 11;
    const size_t end = text.find("\"metadata\"");
    const std::string payload =
        R"({"content_type":"text","body":")" + std::string(bytes - empty.size(), 'x') + "\"}";
    text.replace(start, end - start, payload + ",");
    const Decoded decoded(text);
    ASSERT_EQ(decoded.result.has_value(), bytes == flow_payload_bytes_max);
    if (!decoded.result) {
      EXPECT_EQ(decoded.result.error().code, Code::payload_too_large);
      EXPECT_EQ(decoded.result.error().field, "/payload");
    }
  }
}

TEST(Flow, LenientFillsInWhatSimpleClientsLeaveOut) {
  const std::string text = R"({"type":"request","receiver":"coder","payload":{"body":"hello"}})";
  EXPECT_EQ(Decoded(text).result.error().field, "/metadata");
  DecodeContext context = planner();
  context.lenient = true;
  context.received = base::Time{1'000'000};
  context.fallback_id.bytes.fill(7);
  const Decoded decoded(text, context);
  ASSERT_TRUE(decoded.result) << decoded.result.error().detail;
  EXPECT_EQ(decoded.result->id, context.fallback_id);
  EXPECT_EQ(decoded.result->sender, "planner");
  EXPECT_EQ(decoded.result->created, context.received);
  EXPECT_EQ(decoded.result->thread, "");
  std::string out;
  encode_flow(*decoded.result, {}, out);
  EXPECT_NE(out.find(R"("conversation_id":"07070707-0707-0707-0707-070707070707")"),
            std::string::npos);
}

TEST(Flow, LenientStillRefusesAnotherSender) {
  DecodeContext context = planner();
  context.lenient = true;
  const Decoded decoded(
      R"({"sender":"boss","type":"request","receiver":"coder","payload":{"body":"hello"}})",
      context);
  ASSERT_FALSE(decoded.result);
  EXPECT_EQ(decoded.result.error().code, Code::sender_mismatch);
}

TEST(Flow, BrokersSequenceNumberWinsOverTheSendersZero) {
  Decoded decoded(golden_text("sequence_zero.json"));
  ASSERT_TRUE(decoded.result);
  decoded.result->sequence_number = 12;
  std::string out;
  encode_flow(*decoded.result, {}, out);
  EXPECT_NE(out.find("\"sequence_number\":12"), std::string::npos);
  EXPECT_EQ(out.find("\"sequence_number\":0"), std::string::npos);
}

// XD-01: a message of another dialect is a flow message to the one who reads flow.
TEST(Flow, MessageOfAnotherDialectFitsTheSchema) {
  Envelope e{.dialect = Dialect::squad, .kind = core::Kind::challenge, .sender = "agent:x:main"};
  e.id.bytes.fill(0x44);
  e.id.bytes[8] = 0x84;
  e.receivers = {"agent:x:council-grok", "planner"};
  e.type = "challenge";
  e.subject = "Is it \"safe\"?";
  e.confidence_ppm = 850'000;
  e.body = "[1,2]";
  e.extra = R"({"a":1})";
  e.created = base::Time{1'000};
  std::string out;
  encode_flow(e, {.recipient = "planner"}, out);
  EXPECT_EQ(
      out,
      R"({"id":"44444444-4444-4444-8444-444444444444",)"
      R"("conversation_id":"44444444-4444-4444-8444-444444444444","type":"request",)"
      R"("priority":"normal","sender":"agent:x:main","receiver":"planner","on_timeout":"fail",)"
      R"("payload":{"content_type":"json","body":{"value":[1,2]}},)"
      R"("metadata":{"timestamp":"1970-01-01T00:00:00.001Z","requires_ack":false,)"
      R"("foreign":{"dialect":"squad","type":"challenge",)"
      R"("id":"44444444-4444-4444-8444-444444444444",)"
      R"("subject":"Is it \"safe\"?",)"
      R"("confidence":0.85,"wrapped":true,"receivers":["agent:x:council-grok","planner"],)"
      R"("extra":{"a":1}}}})");
  DecodeContext context = planner();
  context.sender = "agent:x:main";
  EXPECT_TRUE(Decoded(out, context).result);
}

TEST(Flow, TableOfCodecsFindsFlow) {
  ASSERT_NE(find_codec("flow"), nullptr);
  EXPECT_EQ(find_codec("flow"), find_codec(Dialect::flow));
  EXPECT_EQ(find_codec("flow")->decode, decode_flow);
  EXPECT_EQ(find_codec("smoke"), nullptr);
  EXPECT_EQ(name_of(Dialect::superprompt), "superprompt");
}

// FL-02: what is written is read as the same moment, over 10,000 years.
TEST(Iso8601, TimesAreReadAsTheyAreWritten) {
  for (int64_t day = -719'000; day < 2'900'000; day += 3) {
    const base::Time time{day * 86'400'000'000 + 12'345'000};
    ASSERT_EQ(parse_time(base::format_time(time)), time) << base::format_time(time);
  }
}

TEST(Iso8601, DurationsHaveFixedLength) {
  EXPECT_EQ(parse_iso_duration("PT5M"), base::minutes(5));
  EXPECT_EQ(parse_iso_duration("P1DT2H"), base::hours(26));
  EXPECT_EQ(parse_iso_duration("P2W3D"), base::hours(17 * 24));
  EXPECT_EQ(parse_iso_duration("PT0.5S"), base::milliseconds(500));
  EXPECT_EQ(parse_iso_duration("PT1H0M1.000001S"), base::microseconds(3'601'000'001));
  for (const std::string_view text :
       {"", "P", "PT", "P1", "P1Y", "P1M", "P1DT", "PT1.5H", "PT1S1S", "P1H", "-PT1S", "PT-1S",
        "PT.5S", "PT1,5S", "pt1s", "PT1S "}) {
    EXPECT_EQ(parse_iso_duration(text), std::nullopt) << text;
  }
}

constexpr const char* parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::string traced_message(const std::string& members) {
  return R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"c","type":"request",)"
         R"("sender":"planner","receiver":"coder","payload":{"body":{}},)"
         R"("metadata":{"timestamp":"2026-11-15T21:06:53.042Z"})" +
         members + "}";
}

// CO-12: the trace is read out of the message, and whoever gets it is below the message itself.
TEST(Flow, TraceIsReadAndIsTheMessagesOwnForItsReceiver) {
  using Trace = EncodeContext::Trace;
  const Decoded decoded(
      traced_message(R"(,"traceparent":")" + std::string(parent) + R"(","tracestate":"a=b")"));
  ASSERT_TRUE(decoded.result);
  const Envelope& e = *decoded.result;
  EXPECT_EQ(base::format_traceparent({e.trace_id, e.parent_span_id, e.trace_sampled}), parent);
  EXPECT_EQ(e.tracestate, "a=b");
  EXPECT_TRUE(e.extra.empty());  // so a repeat in another span is the same message
  const std::string own =
      base::format_traceparent({e.trace_id, base::message_span(e.id, "planner"), e.trace_sampled});
  for (const auto& [trace, wanted] :
       {std::pair{Trace::as_sent, std::string(parent)}, std::pair{Trace::own_if_sent, own},
        std::pair{Trace::own, own}}) {
    std::string out;
    encode_flow(e, {.recipient = "coder", .trace = trace}, out);
    EXPECT_NE(out.find(R"("traceparent":")" + wanted + R"(","tracestate":"a=b")"),
              std::string::npos)
        << out;
  }
}

TEST(Flow, TraceThatTheSenderDidNotWriteIsThereOnlyWhenAskedFor) {
  using Trace = EncodeContext::Trace;
  const Decoded decoded(traced_message(""));
  ASSERT_TRUE(decoded.result);
  Envelope e = *decoded.result;
  EXPECT_TRUE(e.trace_id.is_none());
  e.trace_id = e.id;
  for (const auto& [trace, there] :
       {std::pair{Trace::as_sent, false}, std::pair{Trace::own_if_sent, false},
        std::pair{Trace::own, true}}) {
    std::string out;
    encode_flow(e, {.recipient = "coder", .trace = trace}, out);
    EXPECT_EQ(out.find("traceparent") != std::string::npos, there) << out;
  }
}

TEST(Flow, WhatIsNoTraceIsNoReasonToRefuse) {
  for (const char* members : {R"(,"traceparent":"00-xyz")", R"(,"traceparent":7)",
                              R"(,"traceparent":null)", R"(,"tracestate":"a=b")"}) {
    const Decoded decoded(traced_message(members));
    ASSERT_TRUE(decoded.result) << members;
    EXPECT_TRUE(decoded.result->trace_id.is_none()) << members;
    EXPECT_TRUE(decoded.result->tracestate.empty()) << members;
  }
}

}  // namespace
}  // namespace parley::dialect
