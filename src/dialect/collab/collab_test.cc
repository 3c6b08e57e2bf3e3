// SPDX-License-Identifier: Apache-2.0
// The golden inputs of tests/golden/collab: NAME.json decodes and comes back; NAME.error.json holds
// a message and the error that it gets.
#include "dialect/collab/collab.h"

#include <gtest/gtest.h>

#include "dialect/flow/flow.h"
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

std::map<std::string, std::string> golden(bool errors) {
  return golden_texts("tests/golden/collab", errors);
}

struct Decoded {
  explicit Decoded(const std::string& text, const DecodeContext& context = planner(),
                   Dialect dialect = Dialect::collab) {
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

Decoded decoded_golden(const std::string& name) {
  return Decoded(read_file("tests/golden/collab/" + name));
}

std::string encoded(const Envelope& envelope, Dialect dialect) {
  std::string out;
  find_codec(dialect)->encode(envelope, {}, out);
  return out;
}

// `text` without its member `left_out`, or without that of its metadata, in normal form.
std::string without(const std::string& text, std::string_view left_out,
                    std::string_view part = {}) {
  JsonDocument document;
  const auto message = document.parse(text);
  EXPECT_TRUE(message) << text;
  std::string out;
  lib::JsonWriter writer(out);
  writer.object();
  for (const auto& [key, value] : message->members()) {
    if (part.empty() && key == left_out) {
      continue;
    }
    writer.key(key);
    if (!part.empty() && key == part) {
      writer.raw(without(std::string(value.raw()), left_out));
    } else {
      writer.raw(value.raw());
    }
  }
  writer.end_object();
  return normal_form(out);
}

// CO-02: every field, every type, and what collab does not know: there and back loses nothing.
TEST(Collab, GoldenMessagesComeBackAsTheyWere) {
  const auto texts = golden(false);
  ASSERT_GE(texts.size(), 35u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    const Decoded message(text);
    ASSERT_TRUE(message.result) << message.result.error().detail;
    const std::string out = encoded(*message, Dialect::collab);
    // A response that names its question by causationId alone gets a correlationId.
    EXPECT_EQ(without(out, name == "response_by_cause.json" ? "correlationId" : ""),
              normal_form(text));
    const Decoded again(out);
    ASSERT_TRUE(again.result) << again.result.error().detail;
    if (name != "response_by_cause.json") {
      EXPECT_EQ(*again, *message);
    }
  }
}

// CO-02: each refusal has its code, names the field, and says what was wanted.
TEST(Collab, GoldenErrorsNameTheField) {
  const auto texts = golden(true);
  ASSERT_GE(texts.size(), 60u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    expect_golden_error(text, decode_collab, planner());
  }
}

// CO-02
TEST(Collab, CommandIsMappedFieldByField) {
  const Decoded command = decoded_golden("command.json");
  ASSERT_TRUE(command.result);
  EXPECT_EQ(command->id, message_id_of(derive_id, "planner", "msg_123"));
  EXPECT_EQ(command->native_id, "msg_123");
  EXPECT_EQ(command->dialect, Dialect::collab);
  EXPECT_EQ(command->kind, Kind::request);
  EXPECT_EQ(command->type, "command");
  EXPECT_EQ(command->priority, core::Priority::normal);
  EXPECT_EQ(command->receivers, std::vector<std::string_view>{"worker"});
  EXPECT_EQ(command->reply_to, "agent-coordinator");
  EXPECT_EQ(command->action, "analyze-document");
  EXPECT_EQ(command->session, "session-7");
  EXPECT_EQ(command->correlation, "corr-1");
  EXPECT_EQ(command->causation, "msg_122");
  EXPECT_EQ(base::format_time(base::Time{} + command->ttl), "2026-11-15T22:06:53.042Z");
  EXPECT_EQ(command->on_timeout, core::OnTimeout::retry);
  EXPECT_TRUE(command->requires_ack);
  EXPECT_EQ(command->durability, core::Durability::disk);
}

// CO-02: a response names what it answers, and says in its payload whether it went well.
TEST(Collab, ResponseAnswersTheMessageOfItsCorrelationId) {
  const Decoded good = decoded_golden("response.json");
  EXPECT_EQ(good->in_reply_to, message_id_of(derive_id, "coordinator", "msg_original"));
  EXPECT_EQ(good->question, "msg_original");
  EXPECT_EQ(good->correlation, "");
  EXPECT_EQ(good->status, Status::success);
  EXPECT_EQ(decoded_golden("response_failed.json")->status, Status::error);
  EXPECT_EQ(decoded_golden("response_success_no_flag.json")->status, Status::success);
  EXPECT_EQ(decoded_golden("foreign_words.json")->status, Status::declined);
}

// XD-01: what the protocol has no member for is said in `foreign`, and heard by those who have one.
TEST(Collab, WhatIsSaidInForeignIsTaken) {
  const Decoded response = decoded_golden("foreign_words.json");
  ASSERT_TRUE(response.result) << response.result.error().detail;
  EXPECT_EQ(response->thread, "conv-7");
  EXPECT_EQ(response->subject, "s");
  EXPECT_EQ(response->task, "t");
  EXPECT_EQ(response->confidence_ppm, 850'000);
}

// CO-05: a response that keeps its chain's correlationId names its question in causationId.
TEST(Collab, ResponseOfAChainKeepsItsCorrelationId) {
  const Decoded response = decoded_golden("response_of_a_chain.json");
  EXPECT_EQ(response->in_reply_to, message_id_of(derive_id, "coordinator", "msg_original"));
  EXPECT_EQ(response->correlation, "unknown-corr");
}

// CO-03: one agent, a list, a topic, everyone.
TEST(Collab, DestinationsAreTaken) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(decoded_golden("list.json")->receivers, (Names{"worker", "checker", "planner"}));
  EXPECT_EQ(decoded_golden("event_to_topic.json")->receivers, Names{"topic:findings"});
  EXPECT_EQ(decoded_golden("event_to_topic.json")->kind, Kind::broadcast);
  EXPECT_EQ(decoded_golden("event_to_everyone.json")->receivers, Names{"*"});
}

// FL-14: what goes to everyone is fire and forget, a roll call and a command are not.
TEST(Collab, EventToEveryoneIsFireAndForget) {
  EXPECT_EQ(decoded_golden("event_to_everyone.json")->durability, core::Durability::memory);
  EXPECT_EQ(decoded_golden("roll_call.json")->durability, core::Durability::disk);
  EXPECT_EQ(decoded_golden("command_to_everyone.json")->durability, core::Durability::disk);
  EXPECT_EQ(decoded_golden("event_to_topic.json")->durability, core::Durability::disk);
}

// CO-02: a UUID of version 4 stands as it is; any other text is mapped, by sender and text.
TEST(Collab, IdsAreAnyText) {
  EXPECT_EQ(base::format_uuid(decoded_golden("id_uuid.json")->id),
            "f47ac10b-58cc-4372-a567-0e02b2c3d479");
  EXPECT_EQ(decoded_golden("id_uuid.json")->native_id, "");
  EXPECT_EQ(decoded_golden("id_uuid_upper_case.json")->id, decoded_golden("id_uuid.json")->id);
  const Decoded seven = decoded_golden("id_uuid_version_7.json");
  EXPECT_EQ(seven->native_id, "018f47ac-10b5-7cc3-a567-0e02b2c3d479");
  EXPECT_TRUE(uuid_of(base::format_uuid(seven->id)));
  const base::MessageId ana = message_id_of(derive_id, "ana", "msg_1");
  const base::MessageId bo = message_id_of(derive_id, "bo", "msg_1");
  EXPECT_NE(ana, bo);
  EXPECT_EQ(ana.low(), bo.low()) << "the lower half is of the text alone";
  EXPECT_NE(ana.low(), message_id_of(derive_id, "ana", "msg_2").low());
}

// CO-15
TEST(Collab, MessageOf512KilobytesIsTakenAndOneByteMoreIsNot) {
  for (const size_t bytes : {collab_message_bytes_max, collab_message_bytes_max + 1}) {
    const std::string head =
        R"({"id":"m","version":"1.0","from":"planner","to":"w","type":"event","priority":1,)"
        R"("timestamp":"2026-01-01T00:00:00Z","action":"a","payload":")";
    const Decoded message(head + std::string(bytes - head.size() - 2, 'x') + "\"}");
    ASSERT_EQ(message.result.has_value(), bytes == collab_message_bytes_max);
    if (!message.result) {
      EXPECT_EQ(message.result.error().code, Code::payload_too_large);
    }
  }
}

TEST(Collab, LenientFillsInWhatSimpleClientsLeaveOut) {
  DecodeContext context = planner();
  context.lenient = true;
  context.received = base::Time{1'000'000};
  context.fallback_id.bytes.fill(7);
  const Decoded command(R"({"type":"command","to":"worker","action":"build"})", context);
  ASSERT_TRUE(command.result) << command.result.error().detail;
  EXPECT_EQ(command->id, context.fallback_id);
  EXPECT_EQ(command->sender, "planner");
  EXPECT_EQ(command->created, context.received);
  EXPECT_EQ(command->body, "null");
  EXPECT_EQ(command->priority, core::Priority::normal);
  const Decoded response(R"({"type":"response","correlationId":"msg_1","payload":1})", context);
  ASSERT_TRUE(response.result) << response.result.error().detail;
  EXPECT_TRUE(response->receivers.empty()) << "it goes to whoever asked";
  EXPECT_FALSE(Decoded(R"({"type":"command","to":"worker"})", context).result);
  EXPECT_EQ(Decoded(R"({"type":"command","from":"boss","to":"w","action":"a"})", context)
                .result.error()
                .code,
            Code::sender_mismatch);
}

// XD-01: a collab message goes to a flow agent as a flow message, and comes back as it was.
TEST(CollabAndFlow, CollabMessagesSurviveFlow) {
  for (const auto& [name, text] : golden(false)) {
    SCOPED_TRACE(name);
    const Decoded message(text);
    ASSERT_TRUE(message.result);
    const std::string in_flow = encoded(*message, Dialect::flow);
    const Decoded as_flow(in_flow, planner(), Dialect::flow);
    ASSERT_TRUE(as_flow.result) << as_flow.result.error().detail << "\n" << in_flow;
    EXPECT_EQ(as_flow->id, message->id);
    EXPECT_EQ(as_flow->native_id,
              uuid_of(message->native_id) ? std::string_view{} : message->native_id);
    EXPECT_EQ(as_flow->kind, message->kind);
    EXPECT_EQ(as_flow->in_reply_to, message->in_reply_to);
    const std::string back = encoded(*as_flow, Dialect::collab);
    const std::string wanted = encoded(*message, Dialect::collab);
    const bool own_foreign = wanted.find("\"foreign\"") != std::string::npos;
    if (name == "id_uuid_upper_case.json") {
      continue;  // the id is the same one, in lower case
    }
    EXPECT_EQ(without(back, "foreign"), without(wanted, "foreign"));
    if (own_foreign && name != "nulls.json") {
      EXPECT_NE(in_flow.find("\"/foreign\""), std::string::npos) << "kept for the way back";
    }
    const Decoded again(back);
    ASSERT_TRUE(again.result) << again.result.error().detail << "\n" << back;
  }
}

// XD-01: and the other way around.
TEST(CollabAndFlow, FlowMessagesSurviveCollab) {
  for (const auto& [name, text] : golden_texts("tests/golden/flow", false)) {
    SCOPED_TRACE(name);
    const Decoded message(text, planner(), Dialect::flow);
    ASSERT_TRUE(message.result);
    const std::string in_collab = encoded(*message, Dialect::collab);
    const Decoded as_collab(in_collab);
    ASSERT_TRUE(as_collab.result) << as_collab.result.error().detail << "\n" << in_collab;
    EXPECT_EQ(as_collab->id, message->id);
    EXPECT_EQ(as_collab->kind, message->kind);
    EXPECT_EQ(as_collab->in_reply_to, message->in_reply_to);
    EXPECT_EQ(as_collab->durability, message->durability);
    const std::string back = encoded(*as_collab, Dialect::flow);
    EXPECT_EQ(without(back, "foreign", "metadata"), normal_form(encoded(*message, Dialect::flow)));
  }
}

// XD-01: a message that went to and fro does not grow.
TEST(CollabAndFlow, ToAndFroDoesNotGrow) {
  const Decoded message = decoded_golden("unknown_members.json");
  std::string text = encoded(*message, Dialect::collab);
  std::string after_first;
  for (int round = 0; round < 4; ++round) {
    const std::string in_flow = encoded(*Decoded(text), Dialect::flow);
    text = encoded(*Decoded(in_flow, planner(), Dialect::flow), Dialect::collab);
    after_first = round == 0 ? text : after_first;
    EXPECT_LE(text.size(), after_first.size() + 16) << text;
  }
}

// XD-01: what was said of one message is not said of another that carries it along.
TEST(CollabAndFlow, ForeignOfAnotherMessageLendsNoId) {
  const Decoded original = decoded_golden("list.json");
  std::string text = encoded(*original, Dialect::flow);
  const std::string id = base::format_uuid(original->id);
  text.replace(text.find(id), id.size(), "f47ac10b-58cc-4372-a567-0e02b2c3d479");
  const Decoded copied(text, planner(), Dialect::flow);
  ASSERT_TRUE(copied.result);
  EXPECT_EQ(copied->native_id, "");
  EXPECT_EQ(copied->receivers.size(), 1u);
  EXPECT_EQ(copied->action, "analyze-document");
}

// XD-01: a flow agent says in `foreign` what only collab has.
TEST(CollabAndFlow, FlowAgentSaysWhatIsToBeDone) {
  const Decoded request(
      R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"c","type":"request",)"
      R"("sender":"planner","receiver":"worker","payload":{"body":{"n":1}},"metadata":)"
      R"({"timestamp":"2026-01-01T00:00:00Z","foreign":{"action":"deploy","session":"s-1"}}})",
      planner(), Dialect::flow);
  ASSERT_TRUE(request.result) << request.result.error().detail;
  const std::string command = encoded(*request, Dialect::collab);
  EXPECT_NE(command.find(R"("type":"command")"), std::string::npos) << command;
  EXPECT_NE(command.find(R"("action":"deploy")"), std::string::npos) << command;
  EXPECT_NE(command.find(R"("sessionId":"s-1")"), std::string::npos) << command;
}

// XD-01: a message that follows another without answering it was caused by it.
TEST(CollabAndFlow, FollowUpIsCausedByWhatItFollows) {
  const Decoded notice(read_file("tests/golden/flow/follow_up.json"), planner(), Dialect::flow);
  ASSERT_TRUE(notice.result);
  ASSERT_FALSE(notice->in_reply_to.is_none());
  EXPECT_NE(encoded(*notice, Dialect::collab)
                .find("\"causationId\":\"" + base::format_uuid(notice->in_reply_to) + "\""),
            std::string::npos);
}

TEST(CollabAndFlow, FlowNamesWhatItAnswersInAnyForm) {
  const std::string text = read_file("tests/golden/flow/response.json");
  const Decoded response(text, planner(), Dialect::flow);
  ASSERT_TRUE(response.result);
  std::string native = text;
  const std::string id = base::format_uuid(response->in_reply_to);
  native.replace(native.find(id), id.size(), "msg_1");
  const Decoded found(native, planner(), Dialect::flow);
  ASSERT_TRUE(found.result) << found.result.error().detail;
  EXPECT_EQ(found->in_reply_to, message_id_of(derive_id, "coordinator", "msg_1"));
  native.replace(native.find("msg_1"), 5, "unknown");
  const Decoded lost(native, planner(), Dialect::flow);
  ASSERT_FALSE(lost.result);
  EXPECT_EQ(lost.result.error().code, Code::not_found);
}

TEST(Collab, TableOfCodecsFindsCollab) {
  EXPECT_EQ(find_codec("collab"), find_codec(Dialect::collab));
  EXPECT_EQ(find_codec("collab")->field("/receiver"), "/to");
  EXPECT_EQ(find_codec("collab")->field("/id"), "/id");
  EXPECT_EQ(find_codec("flow")->field("/receiver"), "/receiver");
}

}  // namespace
}  // namespace parley::dialect
