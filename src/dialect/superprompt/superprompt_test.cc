// SPDX-License-Identifier: Apache-2.0
// The golden inputs of tests/golden/superprompt: NAME.json decodes and comes back; NAME.error.json
// holds a message and the error that it gets. text_NAME.json are the examples of the protocol's
// text.
#include "dialect/superprompt/superprompt.h"

#include <gtest/gtest.h>

#include <array>

#include "dialect/golden_test.h"
#include "dialect/reading.h"

namespace parley::dialect {
namespace {

using base::Code;
using core::Kind;
using core::NeedsApproval;
using core::Priority;
using core::Status;
using lib::Json;
using lib::JsonDocument;

const AnyMessage any_message;

DecodeContext planner() {
  return {.sender = "planner", .derive = derive_id, .lookup = &any_message};
}

// Whoever a message of superprompt names as its sender has sent it; in other dialects `planner`.
struct Decoded {
  explicit Decoded(const std::string& text, Dialect dialect = Dialect::superprompt,
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
  return Decoded(read_file("tests/golden/superprompt/" + name + ".json"));
}

std::string encoded(const Envelope& envelope, Dialect dialect = Dialect::superprompt) {
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

// SP-01, SP-03: every type and field, and what superprompt does not know: there and back loses
// nothing.
TEST(Superprompt, GoldenMessagesComeBackAsTheyWere) {
  const auto texts = golden_texts("tests/golden/superprompt", false);
  ASSERT_GE(texts.size(), 60u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    const Decoded message(text);
    ASSERT_TRUE(message.result) << message.result.error().field << message.result.error().detail;
    const std::string out = encoded(*message);
    const bool is_filled = name == "extension_task_only.json";  // with in_reply_to
    if (!is_filled) {
      EXPECT_EQ(normal_form(out), normal_form(text));
    }
    const Decoded again(out);
    ASSERT_TRUE(again.result) << again.result.error().detail;
    EXPECT_EQ(again->body, message->body);
    EXPECT_EQ(again->kind, message->kind);
    EXPECT_EQ(again->task, message->task);
    EXPECT_EQ(encoded(*again), out);
  }
}

// SP-01, SP-03, SP-04: each refusal has its code, names the field, and says what was wanted.
TEST(Superprompt, GoldenErrorsNameTheField) {
  const auto texts = golden_texts("tests/golden/superprompt", true);
  ASSERT_GE(texts.size(), 110u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    expect_golden_error(text, decode_superprompt, planner());
  }
}

// SP-01, SP-05, SP-07
TEST(Superprompt, DelegationIsMappedFieldByField) {
  const Decoded task = golden("text_delegation");
  ASSERT_TRUE(task.result) << task.result.error().detail;
  EXPECT_EQ(task->id, *uuid_of("1b4e28ba-2fa1-41d2-883f-0016d3cca427"));
  EXPECT_EQ(task->native_id, "");
  EXPECT_EQ(task->dialect, Dialect::superprompt);
  EXPECT_EQ(task->kind, Kind::request);
  EXPECT_EQ(task->type, "task_delegation");
  EXPECT_EQ(task->sender, "orchestrator");
  EXPECT_EQ(task->receivers, std::vector<std::string_view>{"concierge"});
  EXPECT_EQ(task->task, "1b4e28ba-2fa1-41d2-883f-0016d3cca427") << "its own message_id";
  EXPECT_EQ(task->subject, "Human-readable task description");
  EXPECT_EQ(task->priority, Priority::high);
  EXPECT_EQ(task->response_timeout, base::minutes(5));
  EXPECT_EQ(task->on_timeout, core::OnTimeout::retry);
  EXPECT_EQ(task->confidence_ppm, 950'000);
  EXPECT_EQ(task->needs_approval, NeedsApproval::nothing);
  EXPECT_EQ(task->correlation, "github_event_id");
  EXPECT_TRUE(task->requires_ack);
  JsonDocument document;
  const auto body = document.parse(task->body);
  ASSERT_TRUE(body);
  for (const std::string_view key : {"event_context", "task", "context", "repository_context"}) {
    EXPECT_TRUE(body->find(key).is_object()) << key << ": agents of other dialects read it there";
  }
  EXPECT_EQ(golden("delegation_hitl")->needs_approval, NeedsApproval::answer);
  EXPECT_EQ(golden("delegation_hitl")->native_id, "msg-1");
  EXPECT_EQ(golden("delegation_hitl")->task, "msg-1");
  EXPECT_EQ(golden("delegation_medium")->priority, Priority::normal);
  EXPECT_EQ(golden("delegation_low")->priority, Priority::low);
  EXPECT_EQ(golden("delegation_low")->response_timeout.us, 0) << "by the rules";
  EXPECT_EQ(golden("delegation_low")->confidence_ppm, -1);
  EXPECT_EQ(golden("foreign_critical")->priority, Priority::critical);
  EXPECT_EQ(golden("foreign_query")->kind, Kind::query);
}

// SP-01, SP-03, SP-07
TEST(Superprompt, CompletionAnswersTheDelegation) {
  const Decoded done = golden("text_completion");
  ASSERT_TRUE(done.result) << done.result.error().detail;
  EXPECT_EQ(done->kind, Kind::response);
  EXPECT_EQ(done->in_reply_to, *uuid_of("1b4e28ba-2fa1-41d2-883f-0016d3cca427"));
  EXPECT_EQ(done->task, "1b4e28ba-2fa1-41d2-883f-0016d3cca427");
  EXPECT_EQ(done->status, Status::success);
  EXPECT_EQ(done->confidence_ppm, 970'000);
  EXPECT_EQ(done->needs_approval, NeedsApproval::nothing);
  EXPECT_FALSE(done->is_recoverable);
  const Decoded failed = golden("text_completion_failure");
  EXPECT_EQ(failed->status, Status::error);
  EXPECT_TRUE(failed->is_recoverable);
  EXPECT_EQ(failed->confidence_ppm, -1);
  EXPECT_FALSE(golden("completion_failure_score")->is_recoverable);
  EXPECT_EQ(golden("completion_partial_success")->status, Status::partial);
  EXPECT_EQ(golden("completion_requires_approval")->status, Status::success);
  EXPECT_EQ(golden("completion_requires_approval")->needs_approval, NeedsApproval::message);
  EXPECT_EQ(golden("completion_foreign_declined")->status, Status::declined);
  const Decoded native = golden("completion_minimal");
  EXPECT_EQ(native->in_reply_to, message_id_of(derive_id, "coordinator", "msg-1"));
  EXPECT_EQ(native->question, "msg-1");
  EXPECT_EQ(native->task, "");
}

// SP-05, SP-06: what the broker tells of the last failure are its worker's own words.
TEST(Superprompt, FailureSaysWhatFailed) {
  const Decoded failed = golden("text_completion_failure");
  EXPECT_EQ(failed->error_type, "ci_trigger_failed");
  EXPECT_EQ(failed->error_message, "Detailed error description");
  EXPECT_EQ(golden("text_completion")->error_type, "");
  EXPECT_EQ(golden("text_completion")->error_message, "");
}

// SP-07
TEST(Superprompt, CompletionSaysWhetherPeopleShouldLook) {
  EXPECT_EQ(golden("text_completion_failure")->review,
            "Repeated failures require maintainer investigation");
  EXPECT_EQ(golden("text_completion")->review, "") << "not required, whatever the reason says";
  const Decoded unexplained(
      R"({"message_type":"task_completion","message_id":"a-1","in_reply_to":"msg-1",)"
      R"("timestamp":"2026-01-01T00:00:00Z","from_agent":"planner","to_agent":"coordinator",)"
      R"("status":"success","confidence_score":1,"rationale":"done",)"
      R"("requires_human_review":true})");
  ASSERT_TRUE(unexplained.result) << unexplained.result.error().detail;
  EXPECT_EQ(unexplained->review, "done");
}

// SP-08: people decide on the proposed action, and see nothing else as what would be done.
TEST(Superprompt, ApprovalRequestProposesOneAction) {
  const Decoded request = golden("text_approval_request");
  ASSERT_TRUE(request.result) << request.result.error().detail;
  EXPECT_EQ(request->kind, Kind::approval_request);
  EXPECT_EQ(request->action, "close_duplicate_issue");
  EXPECT_EQ(request->subject, "close_duplicate_issue");
  EXPECT_EQ(request->confidence_ppm, 960'000);
  EXPECT_EQ(request->response_timeout, base::hours(72));
  EXPECT_EQ(request->priority, Priority::high);
  EXPECT_EQ(member(std::string(request->body), "action_type"), R"("close_issue")");
  EXPECT_EQ(member(std::string(request->body), "rationale"), "");
  EXPECT_NE(request->extra.find("approvers_tagged"), std::string_view::npos);
  EXPECT_EQ(golden("approval_fraction_of_hour")->response_timeout, base::minutes(30));
}

// SP-05, SP-09, SP-10
TEST(Superprompt, OtherTypesHaveKindsOfTheirOwn) {
  EXPECT_EQ(golden("text_violation_flag")->kind, Kind::private_flag);
  const Decoded health = golden("text_health_check");
  EXPECT_EQ(health->kind, Kind::health_report);
  EXPECT_EQ(member(std::string(health->body), "status"), R"("healthy")");
  EXPECT_EQ(member(std::string(health->body), "performance_metrics/error_rate_percentage"), "0.5");
  const Decoded extension = golden("extension");
  EXPECT_EQ(extension->kind, Kind::notification);
  EXPECT_EQ(extension->type, "timeout_extension_request");
  EXPECT_EQ(extension->task, "msg-1");
  EXPECT_EQ(extension->response_timeout, base::minutes(10));
  EXPECT_EQ(extension->in_reply_to, message_id_of(derive_id, "coordinator", "msg-1"));
  EXPECT_EQ(golden("extension_task_only")->in_reply_to, extension->in_reply_to);
}

// SP-04
TEST(Superprompt, MessageHasAtMostHundredKilobytes) {
  const std::string text = read_file("tests/golden/superprompt/delegation_high.json");
  for (const size_t beyond : {0, 1}) {
    std::string large = text;
    const size_t at = large.find("\"d\"") + 1;
    JsonDocument document;
    const size_t bytes = document.parse(large)->raw().size();
    large.insert(at, std::string(superprompt_message_bytes_max - bytes + beyond, 'x'));
    const Decoded message(large);
    ASSERT_EQ(message.result.has_value(), beyond == 0);
    if (!message.result) {
      EXPECT_EQ(message.result.error().code, Code::payload_too_large);
    }
  }
  DecodeContext small = planner();
  small.bytes_max = 100;
  EXPECT_FALSE(Decoded(text, Dialect::superprompt, small).result);
}

// SP-03: simple clients need not say what the broker knows.
TEST(Superprompt, LenientModeFillsIn) {
  DecodeContext context = planner();
  context.lenient = true;
  context.received = base::Time{1'000'000};
  context.fallback_id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
  const Decoded task(
      R"({"message_type":"task_delegation","to_agent":"triage","task":{"description":"d"}})",
      Dialect::superprompt, context);
  ASSERT_TRUE(task.result) << task.result.error().detail;
  EXPECT_EQ(task->task, "f47ac10b-58cc-4372-a567-0e02b2c3d479");
  EXPECT_EQ(task->created, context.received);
  const std::string out = encoded(*task);
  EXPECT_EQ(member(out, "event_context/event_type"), R"("message")");
  EXPECT_TRUE(Decoded(out).result) << out;
  const Decoded done(R"({"message_type":"task_completion","task_id":"msg-1","status":"success",)"
                     R"("in_reply_to":null,"confidence_score":1,"rationale":"r"})",
                     Dialect::superprompt, context);
  ASSERT_TRUE(done.result) << done.result.error().detail;
  EXPECT_TRUE(done->receivers.empty()) << "it goes to whoever asked";
  EXPECT_EQ(member(encoded(*done), "in_reply_to"), R"("msg-1")");
}

bool is_own_only(const std::string& name) {
  return name.find("flag") != std::string::npos ||     // no other dialect ever gets one
         name == "id_uuid_upper_case.json" ||          // the id is the same one, in lower case
         name == "completion_uuid_upper_case.json" ||  // so is that of what it answers
         name.starts_with("foreign_") || name.starts_with("completion_foreign");
}

// XD-01: a message of superprompt goes to agents of the others in their words, and comes back as it
// was.
TEST(SuperpromptAndOthers, SuperpromptMessagesSurviveTheOthers) {
  for (const Dialect other : {Dialect::flow, Dialect::collab, Dialect::inbox}) {
    for (const auto& [name, text] : golden_texts("tests/golden/superprompt", false)) {
      SCOPED_TRACE(std::string(name_of(other)) + " " + name);
      if (is_own_only(name)) {
        continue;
      }
      const Decoded message(text);
      ASSERT_TRUE(message.result);
      const std::string there = encoded(*message, other);
      const Decoded as_other(there, other);
      ASSERT_TRUE(as_other.result) << as_other.result.error().detail << "\n" << there;
      EXPECT_EQ(as_other->id, message->id);
      EXPECT_EQ(as_other->in_reply_to, message->in_reply_to);
      EXPECT_EQ(as_other->body, message->body);
      EXPECT_EQ(as_other->task, message->task);
      EXPECT_EQ(as_other->needs_approval, message->needs_approval);
      EXPECT_EQ(as_other->is_recoverable, message->is_recoverable);
      EXPECT_EQ(as_other->confidence_ppm, message->confidence_ppm);
      const std::string back = encoded(*as_other);
      const bool has_trace = name == "trace.json";  // as it stands in the other's members
      if (!has_trace) {
        EXPECT_EQ(plain(back), plain(encoded(*message))) << there;
      }
      EXPECT_EQ(superprompt_type(*as_other), message->type) << there;
      const Decoded again(back);
      ASSERT_TRUE(again.result) << again.result.error().detail << "\n" << back;
      EXPECT_EQ(again->kind, message->kind);
    }
  }
}

// XD-01: and the other way around. What is neither a task nor an answer is a notice, which agents
// read and never send.
TEST(SuperpromptAndOthers, TheOthersSurviveSuperprompt) {
  size_t notices = 0;
  for (const Dialect other : {Dialect::flow, Dialect::collab, Dialect::inbox}) {
    const std::string folder = "tests/golden/" + std::string(name_of(other));
    for (const auto& [name, text] : golden_texts(folder, false)) {
      SCOPED_TRACE(folder + "/" + name);
      if (name == "id_uuid_upper_case.json" || name == "response_by_cause.json") {
        continue;  // the id is the same one; the causationId alone is not enough elsewhere
      }
      DecodeContext context = planner();
      context.fallback_id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
      const Decoded message(text, other, context);
      ASSERT_TRUE(message.result);
      const std::string there = encoded(*message);
      const Decoded as_own(there);
      if (superprompt_type(*message) == "system_notice") {
        ASSERT_FALSE(as_own.result);
        EXPECT_EQ(as_own.result.error().code, Code::forbidden);
        EXPECT_EQ(member(there, "body"),
                  normal_form(message->body.empty() ? "null" : std::string(message->body)));
        ++notices;
        continue;
      }
      ASSERT_TRUE(as_own.result) << as_own.result.error().field << as_own.result.error().detail
                                 << "\n"
                                 << there;
      EXPECT_EQ(as_own->id, message->id);
      EXPECT_EQ(as_own->kind, message->kind) << there;
      EXPECT_EQ(as_own->in_reply_to, message->in_reply_to);
      EXPECT_EQ(as_own->status, message->status);
      EXPECT_EQ(as_own->priority, message->priority);
      EXPECT_EQ(as_own->response_timeout, message->response_timeout);
      EXPECT_EQ(as_own->body, message->body);
      EXPECT_EQ(plain(encoded(*as_own, other)), plain(encoded(*message, other))) << there;
    }
  }
  EXPECT_GT(notices, 10u);
}

// SP-07: what is less sure than was asked for is less, however little: a threshold is rounded up,
// and what an answer has down.
TEST(Superprompt, ConfidenceIsComparedByItsDigits) {
  struct Case {
    const char* digits;
    int32_t down;
    int32_t up;
  };
  for (const Case& each : std::to_array<Case>({{"0.95", 950'000, 950'000},
                                               {"0.9499999", 949'999, 950'000},
                                               {"0.9499999999999999999", 949'999, 950'000},
                                               {"0.95000000000000000001", 950'000, 950'001},
                                               {"0.950000000000000000000", 950'000, 950'000},
                                               {"0.29", 290'000, 290'000},
                                               {"0.57", 570'000, 570'000},
                                               {"9.5e-1", 950'000, 950'000},
                                               {"9.4999999E-01", 949'999, 950'000},
                                               {"0.0000095e+5", 950'000, 950'000},
                                               {"0.00001e5", 1'000'000, 1'000'000},
                                               {"95000e-5", 950'000, 950'000},
                                               {"1e-7", 0, 1},
                                               {"1e-400", 0, 1},
                                               {"0e99999999999999999999", 0, 0},
                                               {"0", 0, 0},
                                               {"-0.0", 0, 0},
                                               {"1", 1'000'000, 1'000'000},
                                               {"1.000", 1'000'000, 1'000'000},
                                               {"1.00000000000000000001", 1'000'000, 1'000'000},
                                               {"0.999999999999999999999", 999'999, 1'000'000}})) {
    EXPECT_EQ(parts_per_million(each.digits, false), each.down) << each.digits;
    EXPECT_EQ(parts_per_million(each.digits, true), each.up) << each.digits;
  }
  const auto with = [](std::string text, std::string_view before, std::string_view digits) {
    return text.replace(text.find(before), before.size(), digits);
  };
  const std::string asked = read_file("tests/golden/superprompt/text_delegation.json");
  EXPECT_EQ(Decoded(with(asked, "0.95", "0.95000000000000000001"))->confidence_ppm, 950'001);
  const std::string answer = read_file("tests/golden/superprompt/text_completion.json");
  EXPECT_EQ(Decoded(with(answer, "0.97", "0.9499999999999999999"))->confidence_ppm, 949'999);
  // The same in the member that is for what a dialect has no word for.
  const auto in_flow = [&](const std::string& name, const std::string& digits) {
    const std::string text = read_file("tests/golden/flow/" + name);
    const std::string foreign = R"("metadata": {"foreign": {"confidence": )" + digits + "},";
    return Decoded(with(text, R"("metadata": {)", foreign), Dialect::flow)->confidence_ppm;
  };
  EXPECT_EQ(in_flow("request.json", "0.95000000000000000001"), 950'001);
  EXPECT_EQ(in_flow("response.json", "0.9499999999999999999"), 949'999);
}

// XD-01: what is asked in another dialect is a delegation; its answer is a completion, which has
// the confidence that its sender gave, and none where it gave none.
TEST(SuperpromptAndOthers, TypesAreTheNearest) {
  const auto in_own = [](const std::string& name) {
    return encoded(*Decoded(read_file("tests/golden/flow/" + name), Dialect::flow));
  };
  const std::string request = in_own("request.json");
  EXPECT_EQ(member(request, "message_type"), R"("task_delegation")");
  EXPECT_EQ(member(request, "event_context/event_type"), R"("message")");
  EXPECT_NE(member(request, "task/description"), "");
  EXPECT_EQ(member(in_own("query.json"), "message_type"), R"("task_delegation")");
  const std::string response = in_own("response.json");
  EXPECT_EQ(member(response, "message_type"), R"("task_completion")");
  EXPECT_EQ(member(response, "confidence_score"), "null");
  EXPECT_NE(member(response, "rationale"), "");
  const std::string notice = in_own("notification.json");
  EXPECT_EQ(member(notice, "message_type"), R"("system_notice")");
  EXPECT_EQ(member(notice, "notice"), R"("notification")");
  const Decoded answer(read_file("tests/golden/flow/response.json"), Dialect::flow);
  Envelope changed = *answer;  // views of it
  changed.confidence_ppm = 420'000;
  changed.body = R"("All \"good\"")";
  EXPECT_EQ(member(encoded(changed), "confidence_score"), "0.42");
  EXPECT_EQ(member(encoded(changed), "rationale"), R"("All \"good\"")");
  const std::string long_text = "\"" + std::string(1'001, 'x') + "\"";
  changed.body = long_text;
  EXPECT_EQ(member(encoded(changed), "body"), long_text);
  EXPECT_TRUE(Decoded(encoded(changed)).result) << "its rationale is cut";
}

// SP-05, SP-06: a failure that the broker tells has the members that its facts have.
TEST(SuperpromptAndOthers, FailureOfTheBrokerHasItsFacts) {
  const Decoded answer(read_file("tests/golden/flow/response.json"), Dialect::flow);
  Envelope failed = *answer;
  failed.status = Status::error;
  failed.subject = "the task ran out of time";
  failed.body = R"({"error_type":"timeout","retry_count":3,"suggested_action":"ask another"})";
  const std::string text = encoded(failed);
  EXPECT_EQ(member(text, "status"), R"("failure")");
  EXPECT_EQ(member(text, "error/error_type"), R"("timeout")");
  EXPECT_EQ(member(text, "error/error_message"), R"("the task ran out of time")");
  EXPECT_EQ(member(text, "error/retry_count"), "3");
  EXPECT_EQ(member(text, "error/is_recoverable"), "false");
  EXPECT_EQ(member(text, "error/suggested_action"), R"("ask another")");
  EXPECT_TRUE(Decoded(text).result) << text;
}

// XD-04, SP-07: a body that looks like a delegation, or like a completion, says only what the
// envelope says.
TEST(SuperpromptAndOthers, BodyClaimsNothingThatTheBrokerDoesNotKnow) {
  const std::string head =
      R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"c","sender":"planner",)"
      R"("receiver":"worker","type":"request","priority":"low","payload":{"body":)";
  const std::string tail =
      R"(},"metadata":{"timestamp":"2026-01-01T00:00:00.000Z","foreign":{"subject":"d",)"
      R"("task":"f47ac10b-58cc-4372-a567-0e02b2c3d479"}}})";
  const auto shown = [&](const std::string& task) {
    const Decoded message(
        head + R"({"event_context":{"event_type":"e"},"task":)" + task + "}" + tail, Dialect::flow);
    EXPECT_TRUE(message.result) << message.result.error().detail;
    return encoded(*message);
  };
  EXPECT_EQ(member(shown(R"({"description":"d","priority":"low"})"), "event_context/event_type"),
            R"("e")");
  for (const char* task :
       {R"({"description":"d","priority":"high"})", R"({"description":"other","priority":"low"})",
        R"({"description":"d","priority":"low","requires_hitl":true})",
        R"({"description":"d","priority":"low","confidence_threshold":0.9})",
        R"({"description":"d","priority":"low","timeout_seconds":60})"}) {
    const std::string text = shown(task);
    EXPECT_EQ(member(text, "event_context/event_type"), R"("message")") << task;
    EXPECT_EQ(member(text, "task/priority"), R"("low")");
    EXPECT_EQ(member(text, "task/requires_hitl"), "");
    EXPECT_EQ(member(text, "context/body/task"), member(task, "")) << "what it is: a body";
  }
}

// SP-08: the broker's notice of a decision is one in the asker's own words.
TEST(SuperpromptAndOthers, DecisionIsToldInWords) {
  Envelope notice;
  notice.id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
  notice.sender = "parley";
  notice.receivers = {"triage"};
  notice.type = "notification";
  notice.action = "approval_decided";
  notice.subject = "an approval was decided";
  notice.body =
      R"({"event":"approval_decided","approval":7,)"
      R"("message_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7",)"
      R"("decision":"modified","decided_by":"mia","summary":"close it","comment":"not yet",)"
      R"("modification":"{\"action_type\":\"comment\"}"})";
  const std::string text = encoded(notice);
  EXPECT_EQ(member(text, "message_type"), R"("hitl_approval_decision")");
  EXPECT_EQ(member(text, "in_reply_to"), R"("7c9e6679-7425-40de-944b-e07fc1f90ae7")");
  EXPECT_EQ(member(text, "decision"), R"("modified")");
  EXPECT_EQ(member(text, "decided_by"), R"("mia")");
  EXPECT_EQ(member(text, "comment"), R"("not yet")");
  EXPECT_EQ(member(text, "modification"), R"({"action_type":"comment"})");
  EXPECT_EQ(member(text, "approval"), "7");
  notice.in_reply_to = *uuid_of("7c9e6679-7425-40de-944b-e07fc1f90ae7");
  notice.question = "req-1";
  EXPECT_EQ(member(encoded(notice), "in_reply_to"), R"("req-1")");
  notice.via = core::Via::http;  // an agent that only says so
  EXPECT_EQ(member(encoded(notice), "message_type"), R"("system_notice")");
  Envelope other = notice;
  other.via = core::Via::broker;
  other.action = "delivery_failed";
  EXPECT_EQ(member(encoded(other), "notice"), R"("delivery_failed")");
  EXPECT_EQ(member(encoded(other), "subject"), R"("an approval was decided")");
}

// SP-07: an answer that people did not let pass is missed by who was to get it.
TEST(SuperpromptAndOthers, RefusedAnswerIsToldToItsReceiver) {
  Envelope notice;
  notice.id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
  notice.sender = "parley";
  notice.receivers = {"orchestrator"};
  notice.type = "notification";
  notice.action = "approval_decided";
  notice.in_reply_to = *uuid_of("7c9e6679-7425-40de-944b-e07fc1f90ae7");
  notice.task = "task-1";
  notice.body =
      R"({"event":"approval_decided","approval":7,"decision":"expired","decided_by":"parley",)"
      R"("asker":"triage","detail":"nobody decided in time"})";
  const std::string text = encoded(notice);
  EXPECT_EQ(member(text, "message_type"), R"("hitl_approval_decision")");
  EXPECT_EQ(member(text, "task_id"), R"("task-1")");
  EXPECT_EQ(member(text, "decision"), R"("expired")");
  EXPECT_EQ(member(text, "asker"), R"("triage")");
  EXPECT_EQ(member(text, "detail"), R"("nobody decided in time")");
}

// In the name of the worker, to who waits for its answer.
Envelope failure_of_the_broker() {
  Envelope failure;
  failure.id = *uuid_of("f47ac10b-58cc-4372-a567-0e02b2c3d479");
  failure.kind = core::Kind::response;
  failure.status = core::Status::error;
  failure.sender = "parley";
  failure.receivers = {"orchestrator"};
  failure.on_behalf_of = {"triage"};
  failure.in_reply_to = *uuid_of("7c9e6679-7425-40de-944b-e07fc1f90ae7");
  return failure;
}

// SP-07: a task whose answer people refused has failed, and its failure is no ordinary one.
TEST(Superprompt, FailureAfterADecisionSaysWhatWasDecided) {
  Envelope failure = failure_of_the_broker();
  failure.body = R"({"event":"task_failed","error_type":"approval_rejected","decision":"rejected",)"
                 R"("decided_by":"human:mia","comment":"not so"})";
  const std::string text = encoded(failure);
  EXPECT_EQ(member(text, "error/error_type"), R"("approval_rejected")");
  EXPECT_EQ(member(text, "error/decision"), R"("rejected")");
  EXPECT_EQ(member(text, "error/decided_by"), R"("human:mia")");
  EXPECT_EQ(member(text, "error/comment"), R"("not so")");
  failure.via = core::Via::http;  // an agent that only says so
  EXPECT_EQ(member(encoded(failure), "error/decision"), "");
}

// SP-07: who reads a failure sees where a text of it was cut, and finds all of it in `body`.
TEST(Superprompt, CutTextsAreMarked) {
  const std::string comment(1'000, 'c');
  Envelope failure = failure_of_the_broker();
  const std::string facts =
      R"({"event":"task_failed","error_type":"approval_rejected","decision":"rejected",)"
      R"("decided_by":"human:mia","comment":")" +
      comment + R"("})";
  failure.body = facts;
  const std::string text = encoded(failure);
  EXPECT_EQ(member(text, "error/comment"), "\"" + comment.substr(0, 253) + "…\"");
  EXPECT_EQ(member(text, "body/comment"), "\"" + comment + "\"");
  const std::string words(600, 'w');
  std::string failed = read_file("tests/golden/superprompt/text_completion_failure.json");
  const std::string_view before = "Detailed error description";
  failed.replace(failed.find(before), before.size(), words);
  EXPECT_EQ(Decoded(failed)->error_message, words.substr(0, 509) + "…");
  const std::string_view reason = "Repeated failures require maintainer investigation";
  failed.replace(failed.find(reason), reason.size(), words);
  EXPECT_EQ(Decoded(failed)->review, words.substr(0, 509) + "…");
}

// SP-05: the failure of a task that ran out is in the worker's name, and says who made it.
TEST(Superprompt, FailureOfTheBrokerSpeaksForTheWorker) {
  Envelope failure = failure_of_the_broker();
  failure.subject = "a task failed";
  failure.body =
      R"({"event":"task_failed","error_type":"timeout","detail":"no answer in 5m",)"
      R"("retry_count":3,"is_recoverable":false,"suggested_action":"look at triage"})";
  const std::string text = encoded(failure);
  EXPECT_EQ(member(text, "message_type"), R"("task_completion")");
  EXPECT_EQ(member(text, "from_agent"), R"("triage")");
  EXPECT_EQ(member(text, "made_by"), R"("parley")");
  EXPECT_EQ(member(text, "status"), R"("failure")");
  EXPECT_EQ(member(text, "error"),
            R"({"error_message":"no answer in 5m","error_type":"timeout","is_recoverable":false,)"
            R"("retry_count":3,"suggested_action":"look at triage"})");
  failure.via = core::Via::http;  // an agent that only says so
  EXPECT_EQ(member(encoded(failure), "from_agent"), R"("parley")");
}

// XD-01: a message that went to and fro does not grow.
TEST(SuperpromptAndOthers, ToAndFroDoesNotGrow) {
  for (const Dialect other : {Dialect::flow, Dialect::collab, Dialect::inbox}) {
    std::string text = encoded(*golden("text_delegation"));
    size_t after_first = 0;
    for (int round = 0; round < 4; ++round) {
      const std::string there = encoded(*Decoded(text), other);
      text = encoded(*Decoded(there, other));
      after_first = round == 0 ? text.size() : after_first;
      EXPECT_LE(text.size(), after_first + 16) << text;
    }
  }
}

TEST(Superprompt, TableOfCodecsFindsSuperprompt) {
  const Codec* const codec = find_codec("superprompt");
  ASSERT_NE(codec, nullptr);
  EXPECT_EQ(codec, find_codec(Dialect::superprompt));
  EXPECT_EQ(codec->field("/receiver"), "/to_agent");
  EXPECT_EQ(codec->field("/id"), "/message_id");
  EXPECT_EQ(codec->field("/in_reply_to"), "/in_reply_to");
  EXPECT_EQ(codec->title(*golden("text_delegation")), "Human-readable task description");
  const Decoded request(read_file("tests/golden/flow/request.json"), Dialect::flow);
  JsonDocument document;
  const std::string text = encoded(*request);
  EXPECT_EQ(codec->title(*request),
            document.parse(text)->find("task").find("description").as_string());
}

}  // namespace
}  // namespace parley::dialect
