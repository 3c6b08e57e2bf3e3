// SPDX-License-Identifier: Apache-2.0
// The core knows how large a message can become in another dialect without writing it there. What
// the codecs write must never be larger. CO-15, IN-08, SP-04.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "core/model/envelope.h"
#include "core/model/sizes.h"
#include "dialect/golden_test.h"

namespace parley::dialect {
namespace {

const AnyMessage any_message;

std::string encoded(const Envelope& e, Dialect dialect) {
  std::string out;
  find_codec(dialect)->encode(e, {.recipient = "vic", .trace = EncodeContext::Trace::own}, out);
  return out;
}

void expect_bounds(const Envelope& e) {
  const core::MessageSizes sizes = core::sizes_of(e);
  for (const Dialect dialect : {Dialect::collab, Dialect::superprompt}) {
    if (e.dialect != dialect) {
      const std::string text = encoded(e, dialect);
      EXPECT_LE(text.size(), sizes.whole) << text;
    }
  }
  if (e.dialect == Dialect::inbox) {
    return;  // what was sent in a dialect was measured where it was read
  }
  lib::JsonDocument document;
  const std::string text = encoded(e, Dialect::inbox);
  const auto message = document.parse(text);
  ASSERT_TRUE(message) << text;
  const auto content = message->find("content").as_string();
  ASSERT_TRUE(content) << text;
  EXPECT_LE(content->size(), sizes.content) << text;
}

// As its sender wrote it.
void expect_bounds(const std::string& text, Dialect dialect) {
  lib::JsonDocument document;
  Texts texts;
  const auto message = document.parse(text);
  ASSERT_TRUE(message);
  DecodeContext context;
  context.sender = "planner";
  for (const std::string_view key : {"from_agent", "from"}) {
    context.sender = message->find(key).as_string().value_or(context.sender);
  }
  context.lenient = true;
  context.derive = &derive_id;
  context.lookup = &any_message;
  context.fallback_id.bytes[6] = 0x40;
  context.fallback_id.bytes[8] = 0x80;
  const auto envelope = find_codec(dialect)->decode(*message, context, texts);
  ASSERT_TRUE(envelope) << envelope.error().detail;
  expect_bounds(*envelope);
}

TEST(Sizes, OfTheGoldenMessagesAreNeverTooSmall) {
  for (const Codec& codec : codecs()) {
    const std::string folder = "tests/golden/" + std::string(codec.name);
    for (const auto& [name, text] : golden_texts(folder, false)) {
      SCOPED_TRACE(folder + "/" + name);
      expect_bounds(text, codec.dialect);
    }
  }
}

std::string repeated(std::string_view part, size_t times) {
  std::string text;
  for (size_t n = 0; n < times; ++n) {
    text += part;
  }
  return text;
}

TEST(Sizes, OfWhatGrowsWhenItIsWrittenAgain) {
  for (const std::string_view part :
       {"x", "\\b", "\\f\\u0001", "\\\"", "\\\\", "\xc3\xa9", "\\/", "\\n", "\\u000a", "\\u0022",
        "\\u005c", "\\u005Cn", "\x7f", "\\u0041", "\\u0436", "\\u2028", "\\uD83D\\ude00"}) {
    SCOPED_TRACE(part);
    const std::string grown = repeated(part, 300);
    const bool is_control = part.starts_with("\\b") || part.starts_with("\\f") ||
                            part.starts_with("\\n") || part.starts_with("\\u000a");
    const std::string name = repeated(is_control ? "n" : part, 50);
    for (const std::string_view type : {"request", "notification"}) {
      expect_bounds(R"({"type":")" + std::string(type) +
                        R"(","receiver":"vic","payload":{"content_type":"text","body":")" + grown +
                        R"("}})",
                    Dialect::flow);
    }
    expect_bounds(R"({"type":"request","receiver":"vic","conversation_id":")" + name +
                      R"(","metadata":{"correlation_id":")" + name + R"("},"more":")" + grown +
                      R"(","payload":{"content_type":"text","body":")" + grown + R"("}})",
                  Dialect::flow);
    expect_bounds(R"({"to":"vic","type":"event","action":"a","payload":")" + grown +
                      R"(","sessionId":"s","foreign":{"subject":")" + name +
                      R"(","task":"t"},"more":")" + grown + R"("})",
                  Dialect::collab);
    expect_bounds(R"({"type":"response","receiver":"vic","status":"error","metadata":{)"
                  R"("in_reply_to":"f47ac10b-58cc-4372-a567-0e02b2c3d479"},)"
                  R"("payload":{"body":{"error_type":")" +
                      grown + R"(","error_message":")" + grown + R"("}}})",
                  Dialect::flow);
    expect_bounds(R"({"message_type":"task_delegation","to_agent":"vic","task":{"description":")" +
                      grown + R"("},"more":")" + grown + R"("})",
                  Dialect::superprompt);
  }
}

// The bound is near enough that a message does not fail for nothing.
TEST(Sizes, AreNotFarTooLarge) {
  Envelope e;
  e.sender = "eve";
  e.receivers = {"vic"};
  e.type = "request";
  const std::string body = "\"" + std::string(8'000, 'x') + "\"";
  e.body = body;
  EXPECT_LE(core::sizes_of(e).whole, 8'700u);
  EXPECT_LE(core::sizes_of(e).content, 8'300u);
}

// It is the text that counts, however its sender's JSON writes it.
TEST(Sizes, OfATextAreNotThoseOfItsEscapes) {
  for (const auto& [part, bytes] : {std::pair{"\\u0436", 2}, std::pair{"\\u2028", 3},
                                    std::pair{"\\ud83d\\ude00", 4}, std::pair{"\\/", 1}}) {
    SCOPED_TRACE(part);
    const std::string body = "\"" + repeated(part, 2'000) + "\"";
    Envelope e;
    e.body = body;
    e.type = "request";
    e.kind = core::Kind::request;
    EXPECT_LE(core::sizes_of(e).content, 2'000u * bytes + 700);
    e.kind = core::Kind::notification;
    EXPECT_EQ(core::sizes_of(e).content, 2'000u * bytes + 2);
  }
  // As a status it is shown as it is; in a task's content it is escaped again.
  const std::string body = "\"" + repeated("\\u0001", 2'000) + "\"";
  Envelope e;
  e.body = body;
  EXPECT_EQ(core::sizes_of(e).content, 2'002u);
  e.kind = core::Kind::request;
  EXPECT_GE(core::sizes_of(e).content, 12'000u);
}

}  // namespace
}  // namespace parley::dialect
