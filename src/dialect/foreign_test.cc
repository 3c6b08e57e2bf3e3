// SPDX-License-Identifier: Apache-2.0
// What a sender says of its message in `foreign` is shown to readers of another dialect only as far
// as it is what the envelope says: nobody speaks as another by going through another dialect.
#include "dialect/foreign.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dialect/collab/fields.h"
#include "dialect/flow/fields.h"
#include "dialect/golden_test.h"
#include "dialect/inbox/fields.h"
#include "dialect/squad/fields.h"
#include "dialect/superprompt/fields.h"

namespace parley::dialect {
namespace {

using lib::Json;
using lib::JsonDocument;

constexpr std::string_view id = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
constexpr std::string_view other_id = "0b9d5f3c-58cc-4372-a567-0e02b2c3d479";
const AnyMessage any_message;

// A new dialect has a row here; a test below looks for it. `%` is where `foreign` goes.
struct Speaker {
  Dialect dialect;
  const MemberTable& members;
  std::string_view message;   // urgent, in a session where the dialect can say so
  std::string_view response;  // to other_id
};
constexpr std::array<Speaker, 5> speakers = {{
    {Dialect::flow, flow::members,
     R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"c","type":"request",
         "priority":"high","sender":"eve","receiver":"vic","payload":{"body":{"n":1}},
         "metadata":{"timestamp":"2026-01-01T00:00:00.000Z","foreign":%}})",
     R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"c","type":"response",
         "priority":"high","sender":"eve","receiver":"vic","payload":{"body":{"n":1}},
         "metadata":{"timestamp":"2026-01-01T00:00:00.000Z",
         "in_reply_to":"0b9d5f3c-58cc-4372-a567-0e02b2c3d479","foreign":%}})"},
    {Dialect::collab, collab::members,
     R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","version":"1.0","from":"eve","to":"vic",
         "type":"command","priority":2,"timestamp":"2026-01-01T00:00:00.000Z","action":"build",
         "payload":{"n":1},"foreign":%})",
     R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","version":"1.0","from":"eve","to":"vic",
         "type":"response","priority":2,"timestamp":"2026-01-01T00:00:00.000Z","action":"a",
         "payload":{},"correlationId":"0b9d5f3c-58cc-4372-a567-0e02b2c3d479","foreign":%})"},
    {Dialect::inbox, inbox::members,
     R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","from":"eve","to":"vic","type":"task",
         "priority":"high","threadId":"c","createdAt":"2026-01-01T00:00:00.000Z","content":
         {"taskId":"t","title":"T","description":"D"},"foreign":%})",
     R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","from":"eve","to":"vic","type":"result",
         "priority":"high","threadId":"c","createdAt":"2026-01-01T00:00:00.000Z","content":
         {"taskId":"t","status":"complete","result":"R"},"foreign":%})"},
    {Dialect::superprompt, superprompt::members,
     R"({"message_type":"task_delegation","message_id":"f47ac10b-58cc-4372-a567-0e02b2c3d479",
         "timestamp":"2026-01-01T00:00:00.000Z","from_agent":"eve","to_agent":"vic",
         "event_context":{"event_type":"message"},"task":{"description":"D","priority":"high"},
         "foreign":%})",
     R"({"message_type":"task_completion","message_id":"f47ac10b-58cc-4372-a567-0e02b2c3d479",
         "in_reply_to":"0b9d5f3c-58cc-4372-a567-0e02b2c3d479","from_agent":"eve","to_agent":"vic",
         "timestamp":"2026-01-01T00:00:00.000Z","status":"success","confidence_score":1,
         "rationale":"R","foreign":%})"},
    {Dialect::squad, squad::members,
     R"({"id":"MSG-20260101-000000-f47ac10b-58cc-4372-a567-0e02b2c3d479","from":"eve","to":"vic",
         "timestamp":"2026-01-01T00:00:00.000Z","type":"handoff","priority":"P1","subject":"S",
         "body":{"task":"T"},"thread_id":"c","ttl_hours":2,"foreign":%})",
     R"({"id":"MSG-20260101-000000-f47ac10b-58cc-4372-a567-0e02b2c3d479","from":"eve","to":"vic",
         "timestamp":"2026-01-01T00:00:00.000Z","type":"response","priority":"P1","subject":"S",
         "body":{"result":"R"},"reply_to":"0b9d5f3c-58cc-4372-a567-0e02b2c3d479","foreign":%})"},
}};

std::string with_foreign(std::string_view message, std::string_view dialect,
                         std::string_view extra) {
  std::string foreign =
      R"({"dialect":")" + std::string(dialect) + R"(","id":")" + std::string(id) + "\"";
  foreign += extra.empty() ? "}" : R"(,"extra":)" + std::string(extra) + "}";
  std::string text(message);
  return text.replace(text.find('%'), 1, foreign);
}

// What a reader of `to` is shown of a message that was sent in `from`.
std::string shown(Dialect from, const std::string& text, Dialect to) {
  JsonDocument document;
  Texts texts;
  const auto message = document.parse(text);
  EXPECT_TRUE(message) << text;
  const DecodeContext context{.sender = "eve", .derive = derive_id, .lookup = &any_message};
  const auto envelope = find_codec(from)->decode(*message, context, texts);
  EXPECT_TRUE(envelope) << envelope.error().detail << "\n" << text;
  std::string out;
  find_codec(to)->encode(*envelope, {.recipient = "vic"}, out);
  return out;
}

// The members of a message, each time it is there, without what is in `foreign`; by JSON pointer.
std::multimap<std::string, std::string> members_of(const std::string& text) {
  JsonDocument document;
  const auto message = document.parse(text);
  EXPECT_TRUE(message) << text;
  std::multimap<std::string, std::string> found;
  for (const auto& [key, value] : message->members()) {
    const std::string name = "/" + std::string(key);
    if (name == "/metadata" || (name == "/payload" && value.is_object())) {
      for (const auto& [inner, part] : value.members()) {
        const bool is_foreign = inner == "foreign";
        found.emplace(name + "/" + std::string(inner), is_foreign ? "" : normal_form(part));
      }
    } else {
      found.emplace(name, name == "/foreign" ? "" : normal_form(value));
    }
  }
  return found;
}

// What may differ, for it says the same, or what is nobody else's: an unreadable trace, a key.
void leave_out_spellings(const FieldInfo& field, std::string_view claim,
                         std::multimap<std::string, std::string>& wanted,
                         std::multimap<std::string, std::string>& found) {
  constexpr std::array<std::string_view, 4> defaults = {"requires_ack", "content_type", "status",
                                                        "on_timeout"};
  const auto priority = wanted.find(std::string(field.pointer));
  const bool is_normal =
      field.name == "priority" && priority != wanted.end() && priority->second == R"("normal")";
  const bool is_default =
      (claim == "null" && is_normal) ||
      (claim == "null" && std::ranges::find(defaults, field.name) != defaults.end()) ||
      (field.name == "action" && claim == R"("response")");  // what stands for none
  const bool is_free = field.name == "idempotency_key" || field.name == "tracestate" ||
                       (field.name == "traceparent" && !claim.starts_with("\"00-"));
  if (is_default || is_free) {
    wanted.erase(std::string(field.pointer));
    found.erase(std::string(field.pointer));
  }
  std::erase_if(found, [&](const auto& member) {
    return member.second == "null" && !wanted.contains(member.first);
  });
  if (const auto to = found.find("/to"); to != found.end() && to->second == R"(["vic"])") {
    to->second = R"("vic")";
  }
  // It may stand outside of the metadata, if it says the same.
  const auto inner = wanted.find("/metadata/requires_ack");
  const auto outer = found.find("/requires_ack");
  if (field.pointer == "/requires_ack" && inner != wanted.end() &&
      (is_default || (outer != found.end() && outer->second == inner->second))) {
    wanted.erase(inner);
    found.erase("/requires_ack");
    found.erase("/metadata/requires_ack");
  }
}

TEST(Foreign, EveryCodecIsTested) {
  ASSERT_EQ(codecs().size(), speakers.size()) << "a new dialect has a row in `speakers`";
}

// XD-04: for every member of every dialect: what is shown is what the envelope says, whatever the
// sender claims that the message was in that dialect.
TEST(Foreign, NobodySpeaksAsAnotherThroughAnotherDialect) {
  constexpr std::array<std::string_view, 16> claims = {
      R"("boss")",
      R"("pay-42")",
      R"("critical")",
      "3",
      "null",
      R"("event")",
      R"("response")",
      R"("broadcast")",
      "[]",
      R"(["boss"])",
      "{}",
      R"("2001-01-01T00:00:00Z")",
      R"("PT1S")",
      "true",
      "false",
      R"("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")"};
  for (const Speaker& from : speakers) {
    for (const Speaker& to : speakers) {
      if (from.dialect == to.dialect) {
        continue;
      }
      for (const std::string_view sent : {from.message, from.response}) {
        const std::string_view name = name_of(to.dialect);
        const std::string plain = shown(from.dialect, with_foreign(sent, name, ""), to.dialect);
        for (const FieldInfo& field : to.members.fields) {
          for (const std::string_view claim : claims) {
            const std::string extra =
                "{\"" + std::string(field.pointer) + "\":" + std::string(claim) + "}";
            const std::string text =
                shown(from.dialect, with_foreign(sent, name, extra), to.dialect);
            auto wanted = members_of(plain);
            auto found = members_of(text);
            leave_out_spellings(field, claim, wanted, found);
            EXPECT_EQ(found, wanted) << extra << "\n" << text;
          }
        }
      }
    }
  }
}

// XD-04: a name that is spelled in another way is the same name: no member is there twice.
TEST(Foreign, NoMemberIsShownTwice) {
  const auto count = [](Dialect from, std::string_view sent, Dialect to, std::string_view extra,
                        const std::string& pointer) {
    return members_of(shown(from, with_foreign(sent, name_of(to), extra), to)).count(pointer);
  };
  EXPECT_EQ(count(Dialect::flow, speakers[0].message, Dialect::collab, R"({"/fr\u006fm":"boss"})",
                  "/from"),
            1u);
  EXPECT_EQ(
      count(Dialect::flow, speakers[0].message, Dialect::collab, R"({"/x":1,"/\u0078":2})", "/x"),
      0u);
  EXPECT_EQ(count(Dialect::flow, speakers[0].message, Dialect::collab, R"({"/x":1})", "/x"), 1u);
  EXPECT_EQ(count(Dialect::collab, speakers[1].message, Dialect::flow,
                  R"({"/metadata/foreign":{"reply_to":"boss"}})", "/metadata/foreign"),
            1u);
  EXPECT_EQ(count(Dialect::collab, speakers[1].message, Dialect::flow,
                  R"({"/m\u0065tadata":{"sender":"boss"}})", "/metadata/sender"),
            0u);
}

// XD-04: what a response answers is told by its own in_reply_to alone.
TEST(Foreign, AnswerIsNotPassedOffAsTheAnswerToAnotherQuestion) {
  std::string text(speakers[0].response);
  text.replace(text.find('%'), 1, R"({"in_reply_to":"pay-42"})");
  const auto found = members_of(shown(Dialect::flow, text, Dialect::collab));
  EXPECT_EQ(found.find("/correlationId")->second, "\"" + std::string(other_id) + "\"");
}

// XD-04: to whom it went is no claim either, for each of several receivers.
TEST(Foreign, ReceiverIsTheOneWhoReads) {
  std::string text(speakers[1].message);
  text.replace(text.find(R"("vic")"), 5, R"(["boss","vic"])");
  const std::string shown_text =
      shown(Dialect::collab, with_foreign(text, "flow", R"({"/receiver":"boss"})"), Dialect::flow);
  EXPECT_EQ(members_of(shown_text).find("/receiver")->second, R"("vic")");
}

}  // namespace
}  // namespace parley::dialect
