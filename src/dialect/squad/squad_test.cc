// SPDX-License-Identifier: Apache-2.0
// The golden inputs of tests/golden/squad: NAME.json decodes and comes back; NAME.error.json holds
// a message and the error that it gets. text_NAME.json are the messages of the protocol's text,
// with each of the values that it names.
#include "dialect/squad/squad.h"

#include <gtest/gtest.h>

#include "dialect/golden_test.h"

namespace parley::dialect {
namespace {

using core::Kind;
using core::NeedsApproval;
using core::Priority;
using core::Severity;
using core::Stance;
using core::Status;
using lib::Json;
using lib::JsonDocument;

constexpr std::string_view some_uuid = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
const AnyMessage any_message;

DecodeContext planner() {
  return {.sender = "planner", .derive = derive_id, .lookup = &any_message};
}

// Whoever a message names as its sender has sent it.
struct Decoded {
  explicit Decoded(const std::string& text, Dialect dialect = Dialect::squad,
                   DecodeContext context = planner()) {
    const auto message = document.parse(text);
    EXPECT_TRUE(message) << text;
    for (const std::string_view key : {"from_agent", "sender", "from"}) {
      if (const auto from = message->find(key).as_string()) {
        context.sender = *from;
      }
    }
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
  return Decoded(read_file("tests/golden/squad/" + name + ".json"));
}

std::string encoded(const Envelope& envelope, Dialect dialect = Dialect::squad) {
  std::string out;
  find_codec(dialect)->encode(envelope, {}, out);
  return out;
}

// One member of a message, in normal form; `a/b` is a member of a member.
std::string member(const std::string& message, std::string_view path) {
  JsonDocument document;
  const auto root = document.parse(message);
  EXPECT_TRUE(root) << message;
  Json value = *root;
  while (!path.empty()) {
    const size_t end = path.find('/');
    value = value.find(path.substr(0, end));
    path = end == std::string_view::npos ? std::string_view{} : path.substr(end + 1);
  }
  return value ? normal_form(value) : "";
}

// The message without `foreign`, in normal form.
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

// SQ-03: every type, status and priority, and what squad does not know: there and back loses
// nothing.
TEST(Squad, GoldenMessagesComeBackAsTheyWere) {
  const auto texts = golden_texts("tests/golden/squad", false);
  ASSERT_GE(texts.size(), 60u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    const Decoded message(text);
    ASSERT_TRUE(message.result) << message.result.error().field << message.result.error().detail;
    const std::string out = encoded(*message);
    EXPECT_EQ(normal_form(out), normal_form(text));
    const Decoded again(out);
    ASSERT_TRUE(again.result) << again.result.error().detail;
    EXPECT_EQ(again->body, message->body);
    EXPECT_EQ(again->kind, message->kind);
    EXPECT_EQ(again->id, message->id);
    EXPECT_EQ(encoded(*again), out);
  }
}

// SQ-03, SQ-06: each refusal has its code, names the field, and says what was wanted.
TEST(Squad, GoldenErrorsNameTheField) {
  const auto texts = golden_texts("tests/golden/squad", true);
  ASSERT_GE(texts.size(), 90u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    JsonDocument document;
    const auto golden_case = document.parse(text);
    DecodeContext context = planner();
    const std::string_view from =
        golden_case->find("message").find("from").as_string().value_or("planner");
    context.sender = from == "someone-else" ? "planner" : from;
    expect_golden_error(text, decode_squad, context);
  }
}

// SQ-03, SQ-05
TEST(Squad, HandoffIsMappedFieldByField) {
  const Decoded handoff = golden("text_handoff");
  ASSERT_TRUE(handoff.result) << handoff.result.error().detail;
  EXPECT_EQ(handoff->dialect, Dialect::squad);
  EXPECT_EQ(handoff->kind, Kind::request);
  EXPECT_EQ(handoff->type, "handoff");
  EXPECT_EQ(handoff->native_id, "MSG-20260201-043500-f7a2");
  EXPECT_EQ(handoff->id, message_id_of(derive_id, "agent:main:main", handoff->native_id));
  EXPECT_EQ(handoff->sender, "agent:main:main");
  EXPECT_EQ(handoff->receivers,
            std::vector<std::string_view>{"agent:main:subagent:protocol-designer"});
  EXPECT_EQ(handoff->priority, Priority::high);
  EXPECT_EQ(handoff->subject, "BUILD: Inter-Agent Communication Protocol");
  EXPECT_EQ(handoff->thread, "THREAD-multi-agent-build");
  EXPECT_EQ(handoff->ttl, base::hours(24));
  EXPECT_EQ(handoff->response_timeout.us, 0) << "it waits for ever";
  EXPECT_TRUE(handoff->requires_ack);
  JsonDocument document;
  const auto body = document.parse(handoff->body);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->find("context").as_string(), "Part of multi-agent architecture buildout");
  EXPECT_EQ(golden("text_schema_P0")->priority, Priority::critical);
  EXPECT_EQ(golden("text_schema_handoff")->priority, Priority::normal);
  EXPECT_EQ(golden("text_schema_P3")->priority, Priority::low);
  EXPECT_EQ(golden("text_completion")->ttl.us, 0) << "by the rules";
  EXPECT_EQ(golden("ttl_fraction")->ttl, base::minutes(15));
}

// SQ-04, SQ-06
TEST(Squad, TypesHaveKindsOfTheirOwn) {
  EXPECT_EQ(golden("text_schema_query")->kind, Kind::query);
  EXPECT_EQ(golden("text_challenge")->kind, Kind::challenge);
  EXPECT_EQ(golden("text_escalation")->kind, Kind::escalation);
  EXPECT_EQ(golden("text_escalation")->receivers, std::vector<std::string_view>{"human:francisco"});
  EXPECT_EQ(golden("text_flow_ack")->kind, Kind::acknowledgement);
  EXPECT_EQ(golden("text_flow_response")->kind, Kind::response);
  EXPECT_EQ(golden("response_report")->kind, Kind::notification) << "it answers nothing";
}

// SQ-11: an announcement is for all agents, and survives a crash.
TEST(Squad, BroadcastIsForAllAndDurable) {
  const Decoded announced = golden("text_broadcast");
  EXPECT_EQ(announced->receivers, std::vector<std::string_view>{"*"});
  EXPECT_EQ(announced->kind, Kind::broadcast);
  EXPECT_EQ(announced->durability, core::Durability::disk);
  EXPECT_EQ(golden("query_to_broadcast")->kind, Kind::query);
  EXPECT_EQ(golden("query_to_everyone")->receivers, std::vector<std::string_view>{"*"});
}

// SQ-04: how a response ended is what its result says, else what its status says.
TEST(Squad, ResponseSaysHowItEnded) {
  EXPECT_EQ(golden("text_completion")->status, Status::success);
  EXPECT_EQ(golden("response_failed")->status, Status::error);
  EXPECT_EQ(golden("response_partial")->status, Status::partial);
  EXPECT_EQ(golden("response_declined")->status, Status::declined);
  EXPECT_EQ(golden("response_42_files")->status, Status::success);
  EXPECT_EQ(golden("response_in_progress")->status, Status::partial);
  EXPECT_EQ(golden("response_escalated")->status, Status::declined);
  EXPECT_EQ(golden("text_schema_in_progress")->status, Status::unset) << "no response";
  EXPECT_EQ(golden("text_completion")->question, "MSG-20260201-043500-f7a2");
  EXPECT_EQ(golden("text_completion")->in_reply_to,
            message_id_of(derive_id, "coordinator", "MSG-20260201-043500-f7a2"));
  EXPECT_EQ(golden("response_to_uuid_at_end")->in_reply_to, *uuid_of(some_uuid));
  EXPECT_TRUE(golden("challenge_unknown_reply_to")->in_reply_to.is_none());
}

// SQ-06: what a challenge wants and what its answers do.
TEST(Squad, ChallengeAndItsAnswersHaveAStance) {
  EXPECT_EQ(golden("text_challenge")->stance, Stance::revise);
  EXPECT_EQ(golden("text_challenge_defend")->stance, Stance::defend);
  EXPECT_EQ(golden("text_challenge_escalate")->stance, Stance::escalate);
  EXPECT_EQ(golden("text_challenge")->severity, Severity::moderate);
  EXPECT_EQ(golden("text_challenge_minor")->severity, Severity::minor);
  EXPECT_EQ(golden("text_challenge_critical")->severity, Severity::critical);
  EXPECT_EQ(golden("text_flow_defend")->stance, Stance::defend);
  EXPECT_EQ(golden("text_flow_revise")->stance, Stance::revise);
  EXPECT_EQ(golden("text_flow_escalate")->stance, Stance::escalate);
  EXPECT_EQ(golden("text_flow_defend")->status, Status::success);
  EXPECT_EQ(golden("response_defend_upper_case")->stance, Stance::defend);
  EXPECT_EQ(golden("ack_revises")->stance, Stance::revise);
  EXPECT_EQ(golden("text_completion")->stance, Stance::unset);
}

// SQ-07: what escalates a message is read from its body.
TEST(Squad, BodySaysWhatEscalates) {
  EXPECT_EQ(golden("handoff_percent")->confidence_ppm, 650'000);
  EXPECT_EQ(golden("response_percent")->confidence_ppm, 995'000);
  EXPECT_EQ(golden("response_confidence")->confidence_ppm, 1'000'000);
  EXPECT_EQ(golden("text_handoff")->confidence_ppm, -1);
  EXPECT_EQ(base::format_time(golden("blocked")->blocked_since), "2026-02-01T03:00:00.000Z");
  EXPECT_EQ(golden("external_text")->needs_approval, NeedsApproval::message);
  EXPECT_EQ(golden("external_text")->action, "send an email to the customer");
  EXPECT_EQ(golden("external_object")->action, "pay $5");
  EXPECT_EQ(golden("external_true")->needs_approval, NeedsApproval::message);
  EXPECT_EQ(golden("external_false")->needs_approval, NeedsApproval::nothing);
  EXPECT_EQ(golden("nulls")->needs_approval, NeedsApproval::nothing);
}

// SQ-03: simple clients need not say what the broker knows.
TEST(Squad, LenientModeFillsIn) {
  DecodeContext context = planner();
  context.lenient = true;
  context.received = base::Time{1'769'920'500'000'000};
  context.fallback_id = *uuid_of(some_uuid);
  const Decoded task(R"({"type":"handoff","to":"x","body":{"task":"look at it"}})", Dialect::squad,
                     context);
  ASSERT_TRUE(task.result) << task.result.error().detail;
  EXPECT_EQ(task->subject, "look at it");
  EXPECT_EQ(task->priority, Priority::normal);
  const std::string out = encoded(*task);
  EXPECT_EQ(member(out, "id"), "\"MSG-20260201-043500-" + std::string(some_uuid) + "\"");
  const Decoded again(out);
  ASSERT_TRUE(again.result) << again.result.error().detail << out;
  EXPECT_EQ(again->id, task->id);
  const Decoded ack(R"({"type":"ack","reply_to":"MSG-1"})", Dialect::squad, context);
  ASSERT_TRUE(ack.result) << ack.result.error().detail;
  EXPECT_TRUE(ack->receivers.empty()) << "it goes to whoever asked";
  EXPECT_EQ(ack->subject, "ack");
  EXPECT_FALSE(Decoded(R"({"type":"response","subject":"s"})", Dialect::squad, context).result)
      << "it answers nothing, and names nobody";
  EXPECT_FALSE(Decoded(R"({"type":"challenge","to":"x"})", Dialect::squad, context).result);
  EXPECT_FALSE(Decoded(R"({"id":"7","type":"ack","reply_to":"m"})", Dialect::squad, context).result)
      << "an id that is given has the form";
}

// XD-01: a message of squad goes to agents of the others in their words, and comes back as it was.
TEST(SquadAndOthers, SquadMessagesSurviveTheOthers) {
  size_t count = 0;
  for (const Dialect other :
       {Dialect::flow, Dialect::collab, Dialect::inbox, Dialect::superprompt}) {
    for (const auto& [name, text] : golden_texts("tests/golden/squad", false)) {
      SCOPED_TRACE(std::string(name_of(other)) + " " + name);
      if (name.starts_with("foreign_")) {
        continue;
      }
      Decoded message(text);
      ASSERT_TRUE(message.result);
      const std::string thread = base::format_uuid(message->id);
      if (message->thread.empty()) {
        message.result->thread = thread;  // as an edge does
      }
      const std::string there = encoded(*message, other);
      const Decoded as_other(there, other);
      if (other == Dialect::superprompt && !as_other.result) {
        EXPECT_EQ(as_other.result.error().code, base::Code::forbidden) << "a notice";
        continue;
      }
      ASSERT_TRUE(as_other.result) << as_other.result.error().detail << "\n" << there;
      ++count;
      EXPECT_EQ(as_other->id, message->id);
      EXPECT_EQ(as_other->in_reply_to, message->in_reply_to);
      EXPECT_EQ(as_other->body, message->body);
      EXPECT_EQ(as_other->needs_approval, message->needs_approval);
      EXPECT_EQ(as_other->confidence_ppm, message->confidence_ppm);
      EXPECT_EQ(as_other->stance, message->stance);
      EXPECT_EQ(as_other->severity, message->severity);
      EXPECT_EQ(as_other->blocked_since, message->blocked_since);
      if (!message->action.empty()) {  // what has none is given one in collab
        EXPECT_EQ(as_other->action, message->action);
      }
      const std::string back = encoded(*as_other);
      if (name != "trace.json") {  // as it stands in the other's members
        EXPECT_EQ(plain(back), plain(encoded(*message))) << there;
      }
      EXPECT_EQ(squad_type(*as_other), message->type) << there;
    }
  }
  EXPECT_GT(count, 200u);
}

// XD-01: and the other way around.
TEST(SquadAndOthers, TheOthersSurviveSquad) {
  for (const Dialect other :
       {Dialect::flow, Dialect::collab, Dialect::inbox, Dialect::superprompt}) {
    const std::string folder = "tests/golden/" + std::string(name_of(other));
    for (const auto& [name, text] : golden_texts(folder, false)) {
      SCOPED_TRACE(folder + "/" + name);
      // The causationId alone is not enough elsewhere; nulls are filled in; and what went through
      // three dialects is shown in the words of the second.
      if (name == "response_by_cause.json" || name == "nulls.json" ||
          name.starts_with("foreign_wrapped") || name == "completion_foreign_body.json") {
        continue;
      }
      DecodeContext context = planner();
      context.fallback_id = *uuid_of(some_uuid);
      const Decoded message(text, other, context);
      ASSERT_TRUE(message.result);
      if (message->kind == Kind::private_flag || message->kind == Kind::approval_request) {
        continue;  // no agent ever gets one
      }
      const std::string there = encoded(*message);
      const Decoded as_own(there);
      ASSERT_TRUE(as_own.result) << as_own.result.error().field << as_own.result.error().detail
                                 << "\n"
                                 << there;
      EXPECT_EQ(as_own->id, message->id);
      EXPECT_EQ(as_own->native_id, message->native_id);
      EXPECT_EQ(as_own->kind, message->kind) << there;
      EXPECT_EQ(as_own->in_reply_to, message->in_reply_to);
      EXPECT_EQ(as_own->status, message->status);
      EXPECT_EQ(as_own->priority, message->priority);
      EXPECT_EQ(as_own->response_timeout, message->response_timeout);
      EXPECT_EQ(as_own->body, message->body);
      EXPECT_EQ(as_own->receivers, message->receivers);
      EXPECT_EQ(plain(encoded(*as_own, other)), plain(encoded(*message, other))) << there;
    }
  }
}

// XD-01: a message that went to and fro does not grow.
TEST(SquadAndOthers, ToAndFroDoesNotGrow) {
  for (const Dialect other :
       {Dialect::flow, Dialect::collab, Dialect::inbox, Dialect::superprompt}) {
    std::string text = encoded(*golden("text_handoff"));
    size_t after_first = 0;
    for (int round = 0; round < 4; ++round) {
      const std::string there = encoded(*Decoded(text), other);
      text = encoded(*Decoded(there, other));
      after_first = round == 0 ? text.size() : after_first;
      EXPECT_LE(text.size(), after_first + 16) << text;
    }
  }
}

// XD-01: each kind has the word that comes nearest, and a body in the words of its type.
TEST(SquadAndOthers, TypesAreTheNearest) {
  const auto in_own = [](const std::string& name) {
    return encoded(*Decoded(read_file("tests/golden/flow/" + name), Dialect::flow));
  };
  const std::string request = in_own("request.json");
  EXPECT_EQ(member(request, "type"), R"("handoff")");
  EXPECT_EQ(member(request, "status"), R"("pending")");
  EXPECT_EQ(member(in_own("query.json"), "type"), R"("query")");
  const std::string response = in_own("response.json");
  EXPECT_EQ(member(response, "type"), R"("response")");
  EXPECT_EQ(member(response, "status"), R"("in_progress")") << "it is partial";
  const std::string notice = in_own("notification.json");
  EXPECT_EQ(member(notice, "type"), R"("response")") << "it asks for nothing";
  const Decoded answer(read_file("tests/golden/flow/response.json"), Dialect::flow);
  Envelope changed = *answer;  // views of it
  changed.status = Status::success;
  EXPECT_EQ(member(encoded(changed), "status"), R"("completed")");
  changed.status = Status::error;
  changed.body = R"("All \"wrong\"")";
  EXPECT_EQ(member(encoded(changed), "body/result"), R"("failed")");
  EXPECT_EQ(member(encoded(changed), "body/summary"), R"("All \"wrong\"")");
  changed.body = R"({"result":"completed"})";
  EXPECT_EQ(member(encoded(changed), "body/result"), R"("failed")") << "what the broker knows";
}

// XD-01: what waits for an answer says until when.
TEST(SquadAndOthers, TimeoutIsADeadline) {
  Envelope e;
  e.sender = "eve";
  e.receivers = {"vic"};
  e.type = "request";
  e.kind = Kind::request;
  e.id = *uuid_of(some_uuid);
  e.created = base::Time{1'769'920'500'000'000};
  e.response_timeout = base::minutes(5);
  e.content_type = core::ContentType::text;
  e.body = R"("look at it")";
  const std::string text = encoded(e);
  EXPECT_EQ(member(text, "body/task"), R"("look at it")");
  EXPECT_EQ(member(text, "body/deadline"), R"("2026-02-01T04:40:00.000Z")");
  EXPECT_EQ(member(text, "subject"), R"("look at it")");
  EXPECT_TRUE(Decoded(text).result);
}

// SQ-11: what names a file is a name of a file, whatever the message is called elsewhere.
TEST(SquadAndOthers, IdsHaveTheFormOfSquad) {
  Envelope e;
  e.sender = "eve";
  e.receivers = {"vic"};
  e.type = "request";
  e.id = *uuid_of(some_uuid);
  e.created = base::Time{1'769'920'500'000'000};
  const std::string wanted = "MSG-20260201-043500-" + std::string(some_uuid);
  for (const std::string_view name :
       {"", "../../etc/passwd", "MSG-1", "MSG-20260201-043500-../x"}) {
    e.native_id = name;
    EXPECT_EQ(squad_id(e), wanted) << name;
  }
  EXPECT_EQ(squad_uuid(wanted), e.id);
  EXPECT_EQ(uuid_said(wanted), e.id);
  e.native_id = "MSG-20260201-043500-f7a2";
  EXPECT_EQ(squad_id(e), "MSG-20260201-043500-f7a2");
  EXPECT_EQ(id_in(Dialect::squad, e), "MSG-20260201-043500-f7a2");
}

// XD-04: a body of another dialect that looks like one of squad says only what the envelope says.
TEST(SquadAndOthers, BodyClaimsNothingThatTheBrokerDoesNotKnow) {
  const auto shown = [](const std::string& body) {
    const Decoded message(
        R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"c","sender":"planner",)"
        R"("receiver":"worker","type":"query","priority":"low","payload":{"body":)" +
            body + R"(},"metadata":{"timestamp":"2026-01-01T00:00:00.000Z"}})",
        Dialect::flow);
    EXPECT_TRUE(message.result) << message.result.error().detail;
    return encoded(*message);
  };
  EXPECT_EQ(member(shown(R"({"task":"t","x":1})"), "body"), R"({"task":"t","x":1})");
  for (const char* body : {R"({"confidence":0.9})", R"({"external_action":"pay"})",
                           R"({"blocked_since":"2026-01-01T00:00:00Z"})"}) {
    EXPECT_EQ(member(shown(body), "body/body"), normal_form(std::string(body)));
    EXPECT_EQ(member(shown(body), "body/confidence"), "");
  }
}

// SQ-02: a squad agent cannot hand work off under another kind, whatever it says in `foreign`.
TEST(SquadAndOthers, ForeignWordsChangeNoKind) {
  for (const char* type : {"notification", "query", "event", "broadcast", "agent_health_check"}) {
    std::string text = read_file("tests/golden/squad/text_handoff.json");
    text.insert(1, R"("foreign":{"type":")" + std::string(type) + R"("},)");
    const Decoded handoff(text);
    ASSERT_TRUE(handoff.result);
    EXPECT_EQ(handoff->kind, Kind::request) << type;
  }
}

TEST(Squad, TableOfCodecsFindsSquad) {
  const Codec* const codec = find_codec("squad");
  ASSERT_NE(codec, nullptr);
  EXPECT_EQ(codec, find_codec(Dialect::squad));
  EXPECT_EQ(codec->field("/receiver"), "/to");
  EXPECT_EQ(codec->field("/conversation_id"), "/thread_id");
  EXPECT_EQ(codec->field("/in_reply_to"), "/reply_to");
  EXPECT_EQ(codec->title(*golden("text_handoff")), "BUILD: Inter-Agent Communication Protocol");
}

}  // namespace
}  // namespace parley::dialect
