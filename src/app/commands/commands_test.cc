// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/cli.h"
#include "app/client/client.h"
#include "app/scripted_broker_test.h"
#include "base/ids.h"

namespace parley::app {

Surroundings::Surroundings() {
  std::string path = (std::filesystem::temp_directory_path() / "parley-cli-XXXXXX").string();
  data_ = ::mkdtemp(path.data()) == nullptr ? "" : path;
  for (const char* name : {"PARLEY_URL", "PARLEY_TOKEN", "PARLEY_CA", "PARLEY_CONFIG"}) {
    ::unsetenv(name);
  }
  ::setenv("PARLEY_DATA", data_.c_str(), 1);
}

Surroundings::~Surroundings() {
  ::unsetenv("PARLEY_DATA");
  std::filesystem::remove_all(data_);
}

std::string Surroundings::write(const std::string& name, const std::string& text) const {
  std::ofstream(data_ + "/" + name) << text;
  return data_ + "/" + name;
}

Ran run_captured(std::vector<std::string> arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.code = run(std::move(arguments));
  std::fflush(stdout);
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

namespace {

class Commands : public testing::Test {
 protected:
  // As a client of the scripted broker.
  Ran call(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--url", broker_.url(), "--token", "prl_test"});
    return run_captured(std::move(arguments));
  }
  ScriptedBroker::Asked last() const {
    const auto asked = broker_.asked();
    return asked.empty() ? ScriptedBroker::Asked{} : asked.back();
  }
  std::string member(const std::string& json, std::initializer_list<std::string_view> path) {
    const auto parsed = document_.parse(json);
    lib::Json at = parsed ? *parsed : lib::Json();
    for (auto key = path.begin(); at && key + 1 != path.end(); ++key) {
      at = at.find(*key);
    }
    return at ? text_of(at, *(path.end() - 1)) : "";
  }

  Surroundings surroundings_;
  ScriptedBroker broker_;
  lib::JsonDocument document_;
};

TEST_F(Commands, AgentAddPrintsTheTokenAloneAndSaysHowToUseIt) {
  broker_.answer("POST /v1/agents", 201, R"({"id":"bo","token":"prl_secret"})");
  const Ran ran = call({"agent", "add", "bo", "--dialect", "flow", "--role", "orchestrator",
                        "--capability", "review", "--capability", "merge", "--subscribe", "a.b"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "prl_secret\n");
  EXPECT_NE(ran.err.find("only this once"), std::string::npos);
  EXPECT_NE(ran.err.find("PARLEY_TOKEN"), std::string::npos);
  EXPECT_EQ(ran.err.find("prl_secret"), std::string::npos);
  EXPECT_EQ(last().body, R"({"id":"bo","dialect":"flow","role":"orchestrator",)"
                         R"("capabilities":["review","merge"],"subscriptions":["a.b"]})");
  EXPECT_EQ(last().authorization, "Bearer prl_test");
}

TEST_F(Commands, AWrongWordIsNamedWithTheNearestCommand) {
  const Ran ran = run_captured({"agent", "lst"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("\"parley agent lst\"; the nearest is \"parley agent list\""),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(run_captured({"sned", "--to", "bo"}).code, 2);
  EXPECT_EQ(run_captured({"agent", "list", "--help"}).code, 0);
}

TEST_F(Commands, AgentListIsATableOrTheAnswerItself) {
  const std::string answer = R"({"agents":[{"id":"ana","kind":"agent","dialect":"flow","role":"",)"
                             R"("availability":"available","status":"idle","queue_depth":3},)"
                             R"({"id":"bo","kind":"agent","dialect":"collab","role":"worker",)"
                             R"("availability":"offline","status":"offline","queue_depth":0}]})";
  broker_.answer("GET /v1/agents", 200, answer);
  EXPECT_EQ(call({"agent", "list"}).out,
            "ID   KIND   DIALECT  ROLE    AVAILABLE  STATUS   QUEUED  OPEN\n"
            "ana  agent  flow     -       yes        idle     3       -\n"
            "bo   agent  collab   worker  offline    offline  0       -\n");
  EXPECT_EQ(call({"agent", "list", "--json"}).out, answer + "\n");
}

TEST_F(Commands, NamesAreEncodedInPaths) {
  broker_.answer_all(200, "{}");
  EXPECT_EQ(call({"agent", "remove", "agent:a/b:main"}).code, 0);
  EXPECT_EQ(last().method, "DELETE");
  EXPECT_EQ(last().target, "/v1/agents/agent%3Aa%2Fb%3Amain");
}

TEST_F(Commands, HumanAndWorkspaceAddPrintTheirTokens) {
  broker_.answer("POST /v1/humans", 201, R"({"id":"human:ada","token":"prl_h"})");
  broker_.answer("POST /v1/workspaces", 201, R"({"name":"lab","token":"prl_w"})");
  EXPECT_EQ(call({"human", "add", "ada", "--right", "approver", "--right", "admin"}).out,
            "prl_h\n");
  EXPECT_EQ(last().body, R"({"name":"ada","rights":["approver","admin"]})");
  EXPECT_EQ(call({"workspace", "add", "lab"}).out, "prl_w\n");
  EXPECT_EQ(last().body, R"({"name":"lab"})");
}

TEST_F(Commands, SendMakesAMessageOfFlowAndPrintsItsId) {
  broker_.answer("POST /v1/messages", 202,
                 R"({"id":"m1","seq":7,"state":"accepted","warnings":["nobody subscribes"]})");
  const Ran ran = call({"send", "--to", "bo", "--priority", "high", "--ttl", "5m", "--key", "k1",
                        "build is \"red\""});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "m1\n");
  EXPECT_EQ(ran.err, "parley: warning: nobody subscribes\n");
  const auto asked = last();
  EXPECT_EQ(asked.target, "/v1/messages?lenient=true");
  EXPECT_EQ(asked.dialect, "flow");
  EXPECT_EQ(asked.key, "k1");
  EXPECT_TRUE(base::parse_uuid(member(asked.body, {"id"})).has_value()) << asked.body;
  EXPECT_EQ(member(asked.body, {"conversation_id"}), member(asked.body, {"id"}));
  EXPECT_EQ(member(asked.body, {"type"}), "notification");
  EXPECT_EQ(member(asked.body, {"priority"}), "high");
  EXPECT_EQ(member(asked.body, {"receiver"}), "bo");
  EXPECT_EQ(member(asked.body, {"payload", "content_type"}), "text");
  EXPECT_EQ(member(asked.body, {"payload", "body"}), "build is \"red\"");
  EXPECT_EQ(member(asked.body, {"metadata", "ttl"}), "5m");
  EXPECT_EQ(member(asked.body, {"metadata", "timestamp"}).size(), 24u);
}

TEST_F(Commands, SendWantsAnAcknowledgementIfToldSo) {
  broker_.answer("POST /v1/messages", 202, R"({"id":"m1","state":"accepted"})");
  EXPECT_EQ(call({"send", "--to", "bo", "x"}).code, 0);
  EXPECT_NE(last().body.find(R"("requires_ack":false)"), std::string::npos) << last().body;
  EXPECT_EQ(call({"send", "--to", "bo", "--requires-ack", "x"}).code, 0);
  EXPECT_NE(last().body.find(R"("requires_ack":true)"), std::string::npos) << last().body;
  EXPECT_EQ(call({"send", "--to", "bo", "--action", "look", "--requires-ack", "x"}).code, 0);
  EXPECT_NE(last().body.find(R"("foreign":{"requires_ack":true})"), std::string::npos)
      << last().body;
  EXPECT_EQ(call({"publish", "build.done", "--requires-ack", "x"}).code, 0);
  EXPECT_NE(last().body.find(R"("requires_ack":true)"), std::string::npos) << last().body;
}

TEST_F(Commands, SendTakesAFileAndJson) {
  broker_.answer("POST /v1/messages", 202, R"({"id":"m1","state":"accepted"})");
  const std::string file = surroundings_.write("body.json", " {\"task\": 42}\n");
  EXPECT_EQ(call({"send", "--to", "bo", "--as", "json", "@" + file}).code, 0);
  EXPECT_EQ(member(last().body, {"payload", "body"}), "{\"task\": 42}");
  const Ran bad = call({"send", "--to", "bo", "--as", "json", "[1]"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.err.find("no object"), std::string::npos) << bad.err;
  const Ran missing = call({"send", "--to", "bo", "@" + file + ".none"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("No such file"), std::string::npos) << missing.err;
  EXPECT_EQ(broker_.asked().size(), 1u);
}

TEST_F(Commands, SendAnswersToTheSenderInTheThread) {
  broker_.answer("GET /v1/messages/q1", 200,
                 R"({"id":"q1-full","sender":"ana","conversation_id":"c9"})");
  broker_.answer("POST /v1/messages", 202, R"({"id":"m2","state":"accepted"})");
  EXPECT_EQ(call({"send", "--reply-to", "q1", "done"}).code, 0);
  const std::string body = last().body;
  EXPECT_EQ(member(body, {"receiver"}), "ana");
  EXPECT_EQ(member(body, {"type"}), "response");
  EXPECT_EQ(member(body, {"status"}), "success");
  EXPECT_EQ(member(body, {"conversation_id"}), "c9");
  EXPECT_EQ(member(body, {"metadata", "in_reply_to"}), "q1-full");
}

// SP-01, SP-05: the words of superprompt from the command line.
TEST_F(Commands, SendTakesTheTypesOfSuperprompt) {
  broker_.answer("POST /v1/messages", 202, R"({"id":"m1","state":"accepted"})");
  const Ran given = call({"send", "--to", "triage", "--type", "task_delegation", "--priority",
                          "critical", "--thread", "c1", "look at 123"});
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_EQ(last().dialect, "superprompt");
  EXPECT_EQ(member(last().body, {"message_type"}), "task_delegation");
  EXPECT_EQ(member(last().body, {"to_agent"}), "triage");
  EXPECT_EQ(member(last().body, {"task", "description"}), "look at 123");
  EXPECT_EQ(member(last().body, {"task", "priority"}), "high");
  EXPECT_EQ(member(last().body, {"foreign", "thread"}), "c1");
  EXPECT_TRUE(base::parse_uuid(member(last().body, {"message_id"})).has_value());

  EXPECT_EQ(call({"send", "--to", "boss", "--type", "task_completion", "--as", "json",
                  R"({"in_reply_to":"m0","message_id":"mine","status":"success"})"})
                .code,
            0);
  EXPECT_EQ(member(last().body, {"in_reply_to"}), "m0");
  EXPECT_EQ(member(last().body, {"message_id"}), "mine");
  EXPECT_EQ(last().body.find("message_id"), last().body.rfind("message_id")) << last().body;
}

// SQ-03, SQ-06, SQ-07: the words of squad from the command line. The broker fills in id and time.
TEST_F(Commands, SendTakesTheTypesOfSquad) {
  broker_.answer("POST /v1/messages", 202, R"({"id":"m1","state":"accepted"})");
  const Ran given = call({"send", "--to", "agent:main:subagent:7", "--type", "handoff",
                          "--priority", "critical", "--ttl", "90m", "--subject", "price it",
                          "--constraint", "a", "--constraint", "b", "look at it"});
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_EQ(last().dialect, "squad");
  EXPECT_EQ(member(last().body, {"type"}), "handoff");
  EXPECT_EQ(member(last().body, {"priority"}), "P0");
  EXPECT_EQ(member(last().body, {"subject"}), "price it");
  EXPECT_EQ(member(last().body, {"body", "task"}), "look at it");
  EXPECT_NE(last().body.find(R"("constraints":["a","b"])"), std::string::npos) << last().body;
  EXPECT_NE(last().body.find(R"("ttl_hours":1.5)"), std::string::npos) << last().body;

  EXPECT_EQ(call({"send", "--to", "agent:main:main", "--type", "challenge", "--claim", "$50",
                  "--evidence", "costs", "--wants", "revise", "--severity", "minor", "too low"})
                .code,
            0);
  EXPECT_EQ(member(last().body, {"body", "claim_challenged"}), "$50");
  EXPECT_EQ(member(last().body, {"body", "grounds"}), "too low");
  EXPECT_EQ(member(last().body, {"body", "requested_action"}), "revise");
  EXPECT_NE(last().body.find(R"("evidence":["costs"])"), std::string::npos) << last().body;

  EXPECT_EQ(call({"send", "--to", "agent:main:main", "--type", "escalation", "--as", "json",
                  "--external", "pay", R"({"reason":"r","external_action":"mine"})"})
                .code,
            0);
  EXPECT_EQ(member(last().body, {"body", "external_action"}), "mine");
  EXPECT_EQ(member(last().body, {"body", "reason"}), "r");
  EXPECT_EQ(call({"send", "--to", "bo", "--type", "query", "what?"}).code, 0);
  EXPECT_EQ(last().dialect, "flow") << "it says nothing that only squad has";
}

TEST_F(Commands, ACompletionOfSuperpromptAnswers) {
  broker_.answer("GET /v1/messages/q1", 200,
                 R"({"id":"q1-full","sender":"boss","conversation_id":"c9"})");
  broker_.answer("POST /v1/messages", 202, R"({"id":"m2","state":"accepted"})");
  EXPECT_EQ(call({"send", "--reply-to", "q1", "--type", "task_completion", "--confidence", "0.97",
                  "labelled"})
                .code,
            0);
  EXPECT_EQ(member(last().body, {"in_reply_to"}), "q1-full");
  EXPECT_EQ(member(last().body, {"to_agent"}), "boss");
  EXPECT_EQ(member(last().body, {"status"}), "success");
  EXPECT_EQ(member(last().body, {"rationale"}), "labelled");
  EXPECT_NE(last().body.find(R"("confidence_score":0.97)"), std::string::npos) << last().body;
  EXPECT_EQ(call({"send", "--reply-to", "q1", "--type", "task_completion", "--status", "failure",
                  "no such issue"})
                .code,
            0);
  EXPECT_EQ(member(last().body, {"error", "error_message"}), "no such issue");
  EXPECT_EQ(
      call({"send", "--reply-to", "q1", "--type", "task_completion", "--confidence", "1.5", "x"})
          .code,
      2);
  const Ran lacking =
      call({"send", "--reply-to", "q1", "--type", "timeout_extension_request", "x"});
  EXPECT_EQ(lacking.code, 1);
  EXPECT_NE(lacking.err.find("--as json"), std::string::npos) << lacking.err;
}

TEST_F(Commands, ADelegationWaitsForItsCompletion) {
  broker_.answer("POST /v1/messages", 200,
                 R"({"id":"m1","response":{"message_type":"task_completion","from_agent":"triage",)"
                 R"("status":"failure","rationale":"no such issue"}})");
  const Ran ran = call({"request", "--to", "triage", "--type", "task_delegation", "--timeout",
                        "90s", "look at 123"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "no such issue\n");
  EXPECT_EQ(ran.err, "parley: triage answered with status failure\n");
  EXPECT_NE(last().body.find(R"("timeout_seconds":90)"), std::string::npos) << last().body;
}

TEST_F(Commands, RequestWaitsAndPrintsTheAnswer) {
  broker_.answer("POST /v1/messages", 200,
                 R"({"id":"m1","response":{"sender":"bo","status":"success",)"
                 R"("payload":{"content_type":"text","body":"two files\n\u001b[2J"}}})");
  const Ran ran = call({"request", "--to", "bo", "--timeout", "5s", "which?"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "two files\n\\x1b[2J\n");
  EXPECT_EQ(last().target, "/v1/messages?lenient=true&wait=5s");
  EXPECT_EQ(member(last().body, {"type"}), "request");
  EXPECT_EQ(member(last().body, {"response_timeout"}), "5s");
  EXPECT_EQ(member(last().body, {"metadata", "requires_ack"}), "true");
}

TEST_F(Commands, ARequestThatIsDeclinedOrNotAnsweredFails) {
  broker_.answer(
      "POST /v1/messages", 200,
      R"({"id":"m1","response":{"sender":"bo","status":"declined","payload":{"body":"no"}}})");
  broker_.answer("POST /v1/messages", 504, R"({"code":"TIMEOUT","detail":"no answer within 5s"})");
  const Ran declined = call({"request", "--to", "bo", "please"});
  EXPECT_EQ(declined.code, 1);
  EXPECT_EQ(declined.out, "no\n");
  EXPECT_EQ(declined.err, "parley: bo answered with status declined\n");
  const Ran late = call({"request", "--to", "bo", "please"});
  EXPECT_EQ(late.code, 1);
  EXPECT_TRUE(late.err.starts_with("parley: no answer within 5s (TIMEOUT)\n")) << late.err;
}

TEST_F(Commands, PublishGoesToATopicOrToEverybody) {
  broker_.answer("POST /v1/messages", 202, R"({"id":"m1","state":"accepted"})");
  EXPECT_EQ(call({"publish", "task.done", "x"}).code, 0);
  EXPECT_EQ(member(last().body, {"receiver"}), "task.done");
  EXPECT_EQ(member(last().body, {"type"}), "broadcast");
  EXPECT_EQ(call({"publish", "*", "x"}).code, 0);
  EXPECT_EQ(member(last().body, {"type"}), "broadcast");
  // FL-13: an agent of that name is not meant.
  EXPECT_EQ(call({"publish", "news", "x"}).code, 0);
  EXPECT_EQ(member(last().body, {"receiver"}), "topic:news");
  EXPECT_EQ(call({"publish", "task.done", "--type", "notification", "x"}).code, 0);
  EXPECT_EQ(member(last().body, {"receiver"}), "topic:task.done");
  EXPECT_EQ(member(last().body, {"type"}), "notification");
}

TEST_F(Commands, InboxShowsOtherPeoplesTextHarmless) {
  broker_.answer("GET /v1/inbox", 200,
                 R"({"count":1,"notifications":[{"id":"m1","from":"an\u001ba","type":"request",)"
                 R"("priority":"high","preview":"first\nsecond","timestamp":"T","thread":"c"}]})");
  const Ran ran = call({"inbox", "--wait", "1s", "--limit", "5"});
  EXPECT_EQ(ran.out,
            "ID  FROM     TYPE     PRIORITY  SENT  PREVIEW\n"
            "m1  an\\x1ba  request  high      T     first\\x0asecond\n");
  EXPECT_EQ(last().target, "/v1/inbox?limit=5&wait=1s");
}

TEST_F(Commands, OutboxShowsHowMessagesStand) {
  broker_.answer("GET /v1/outbox", 200,
                 R"({"count":2,"next":17,"messages":[{"id":"m2","to":["bo"],"type":"request",)"
                 R"("timestamp":"T","preview":"x","recipient_count":1,"open":0,)"
                 R"("deliveries":[{"receiver":"bo","state":"acked"}]},{"id":"m1","to":["a.b"],)"
                 R"("type":"broadcast","timestamp":"T","preview":"y","recipient_count":3,)"
                 R"("open":1,"deliveries":[]}]})");
  const Ran ran = call({"outbox", "--since", "2026-11-15T08:00:00Z", "--cursor", "20"});
  EXPECT_EQ(ran.out,
            "ID  TO   TYPE       SENT  STATE           PREVIEW\n"
            "m2  bo   request    T     acked           x\n"
            "m1  a.b  broadcast  T     2 of 3 settled  y\n");
  EXPECT_NE(ran.err.find("--cursor 17"), std::string::npos) << ran.err;
  EXPECT_EQ(last().target, "/v1/outbox?limit=100&since=2026-11-15T08%3A00%3A00Z&cursor=20");
}

TEST_F(Commands, ReadShowsTheMessageForPeople) {
  broker_.answer_all(
      200, R"({"id":"m1","sender":"ana","receiver":"bo","type":"request","priority":"high",)"
           R"("conversation_id":"c1","payload":{"content_type":"text","body":"line 1\nline 2"},)"
           R"("metadata":{"timestamp":"T"}})");
  const Ran ran = call({"read", "m1"});
  EXPECT_EQ(last().target, "/v1/messages/m1?dialect=flow");
  EXPECT_EQ(ran.out,
            "id        m1\nfrom      ana\nto        bo\ntype      request\npriority  high\n"
            "sent      T\nthread    c1\n\nline 1\nline 2\n");
  call({"read", "m1", "--json"});
  EXPECT_EQ(last().target, "/v1/messages/m1");
}

TEST_F(Commands, SettlingSaysWhatItDid) {
  broker_.answer_all(200, "{}");
  EXPECT_EQ(call({"ack", "m1"}).out, "acked m1\n");
  EXPECT_EQ(last().target, "/v1/messages/m1/ack");
  EXPECT_EQ(call({"nack", "m1", "--reason", "busy", "--retry-after", "5s"}).out, "gave back m1\n");
  EXPECT_EQ(last().body, R"({"reason":"busy","retry_after":"5s"})");
  EXPECT_EQ(call({"nack", "m1", "--unfailed"}).out, "gave back m1\n");
  EXPECT_EQ(last().body, R"({"failed":false})");
  EXPECT_EQ(call({"reject", "m1", "--reason", "no"}).out, "rejected m1\n");
  EXPECT_EQ(last().target, "/v1/messages/m1/reject");
  EXPECT_EQ(call({"reject", "m1"}).code, 2);
}

TEST_F(Commands, WaitPollsUntilThereIsMail) {
  broker_.answer("GET /v1/inbox", 200, R"({"count":0,"notifications":[]})");
  broker_.answer("GET /v1/inbox", 200,
                 R"({"count":1,"notifications":[{"id":"m1","from":"ana","type":"t"}]})");
  const Ran ran = call({"wait", "--timeout", "1h"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("m1"), std::string::npos);
  EXPECT_EQ(broker_.asked().size(), 2u);
  EXPECT_EQ(last().target, "/v1/inbox?wait=30s");
}

TEST_F(Commands, WaitEndsWithOneWhenTheTimeIsOver) {
  broker_.answer("GET /v1/inbox", 200, R"({"count":0,"notifications":[]})");
  const Ran ran = call({"wait", "--timeout", "0s"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "parley: no mail within 0s\n");
  EXPECT_EQ(broker_.asked().size(), 1u);
}

TEST_F(Commands, DeadLettersAreListedShownAndResolved) {
  broker_.answer("GET /v1/dead-letters", 200,
                 R"({"dead_letters":[{"id":3,"reason":"rejected","failed_at":"T","receiver":"bo",)"
                 R"("retry_count":1,"last_error":"no","resolution":{"status":"pending"}}]})");
  broker_.answer("GET /v1/dead-letters/3", 200,
                 R"({"dead_letter":{"id":3,"reason":"rejected"},"original_message":{"id":"m1"}})");
  broker_.answer_all(200, "{}");
  EXPECT_EQ(call({"dead", "list", "--pending"}).out,
            "ID  REASON    FAILED  FROM  TO  RETRIES  STATE    LAST ERROR\n"
            "3   rejected  T       -     bo  1        pending  no\n");
  EXPECT_EQ(last().target, "/v1/dead-letters?limit=100&state=pending");
  EXPECT_EQ(call({"dead", "show", "3"}).out,
            "FIELD   VALUE\nid      3\nreason  rejected\n\n{\"id\":\"m1\"}\n");
  EXPECT_EQ(call({"dead", "retry", "3"}).out, "retried dead letter 3\n");
  EXPECT_EQ(last().target, "/v1/dead-letters/3/retry");
  EXPECT_EQ(call({"dead", "discard", "3"}).out, "discarded dead letter 3\n");
}

TEST_F(Commands, TopicsNameTheirSubscribers) {
  broker_.answer("GET /v1/topics", 200,
                 R"({"topics":[{"name":"a.b","subscribers":["ana","bo"],"retained":2}]})");
  EXPECT_EQ(call({"topics"}).out, "TOPIC  KEPT  SUBSCRIBERS\na.b    2     ana, bo\n");
}

TEST_F(Commands, ARefusalIsOneLineWithItsCodeAndTheAdvice) {
  broker_.answer_all(404, R"({"type":"about:blank","title":"t","status":404,)"
                          R"("detail":"no agent \"x\u001b\"","code":"NOT_FOUND","field":"/id"})");
  const Ran ran = call({"agent", "show", "x"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(
      ran.err.starts_with("parley: no agent \"x\\x1b\" (field /id) (NOT_FOUND)\nCheck the id"))
      << ran.err;
}

TEST_F(Commands, WhatIsNoBrokerIsSaidSo) {
  broker_.answer_all(500, "<html>oops</html>");
  const Ran refused = call({"topics"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("(HTTP_500)"), std::string::npos) << refused.err;
}

TEST_F(Commands, AWrongCallEndsWithTwo) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"nonsense"},
                                                    {"send", "hello"},
                                                    {"send", "--to", "bo"},
                                                    {"send", "--to", "bo", "--ttl", "soon", "x"},
                                                    {"agent", "add", "x", "--dialect", "latin"},
                                                    {"inbox", "--limit", "0"},
                                                    {"config"},
                                                    {"serve", "--set", "nothing"}}) {
    const Ran ran = run_captured(arguments);
    EXPECT_EQ(ran.code, 2) << (arguments.empty() ? "" : arguments.back());
    EXPECT_TRUE(ran.err.starts_with("parley: ")) << ran.err;
  }
}

TEST_F(Commands, EveryCommandHasHelpWithAnExample) {
  const std::vector<std::vector<std::string>> all = {{"serve"},
                                                     {"agent", "add"},
                                                     {"agent", "list"},
                                                     {"agent", "show"},
                                                     {"agent", "remove"},
                                                     {"human", "add"},
                                                     {"workspace", "add"},
                                                     {"workspace", "list"},
                                                     {"send"},
                                                     {"request"},
                                                     {"publish"},
                                                     {"inbox"},
                                                     {"read"},
                                                     {"ack"},
                                                     {"nack"},
                                                     {"reject"},
                                                     {"wait"},
                                                     {"dead", "list"},
                                                     {"dead", "show"},
                                                     {"dead", "retry"},
                                                     {"dead", "discard"},
                                                     {"topics"},
                                                     {"config", "show"},
                                                     {"journal", "dump"},
                                                     {"journal", "verify"},
                                                     {"doctor"}};
  for (std::vector<std::string> arguments : all) {
    std::string words = "parley";
    for (const std::string& word : arguments) {
      words += " " + word;
    }
    arguments.emplace_back("--help");
    const Ran ran = run_captured(arguments);
    EXPECT_EQ(ran.code, 0) << words;
    EXPECT_NE(ran.out.find("Example:\n  " + words), std::string::npos) << ran.out;
  }
}

TEST_F(Commands, TheLocalBrokerAndItsAdminAreFoundByThemselves) {
  broker_.answer("GET /v1/topics", 200, R"({"topics":[]})");
  surroundings_.write("broker.json", "{\"url\":\"" + broker_.url() +
                                         "\",\"pid\":" + std::to_string(::getpid()) + "}\n");
  surroundings_.write("admin.token", "prl_admin\n");
  EXPECT_EQ(run_captured({"topics"}).code, 0);
  EXPECT_EQ(last().authorization, "Bearer prl_admin");
  ::setenv("PARLEY_TOKEN", "prl_mine", 1);
  EXPECT_EQ(run_captured({"topics"}).code, 0);
  EXPECT_EQ(last().authorization, "Bearer prl_mine");
  ::unsetenv("PARLEY_TOKEN");
}

// What a script gives whose own variable is empty.
TEST_F(Commands, AnEmptyTokenIsNotTheAdmins) {
  broker_.answer("GET /v1/topics", 200, R"({"topics":[]})");
  surroundings_.write("broker.json", "{\"url\":\"" + broker_.url() +
                                         "\",\"pid\":" + std::to_string(::getpid()) + "}\n");
  surroundings_.write("admin.token", "prl_admin\n");
  ::setenv("PARLEY_TOKEN", "", 1);
  const Ran ran = run_captured({"topics"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("PARLEY_TOKEN is set but empty"), std::string::npos) << ran.err;
  EXPECT_EQ(run_captured({"topics", "--token", "prl_mine"}).code, 0);
  EXPECT_EQ(last().authorization, "Bearer prl_mine");
  ::unsetenv("PARLEY_TOKEN");
  EXPECT_EQ(run_captured({"topics", "--token", ""}).code, 2);
  EXPECT_EQ(run_captured({"topics", "--token="}).code, 2);
  EXPECT_EQ(broker_.asked().size(), 1u);
}

TEST_F(Commands, ADataDirectoryWithoutABrokerIsNoOtherBroker) {
  const Ran ran = run_captured({"topics", "--token", "prl_mine"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("no broker is running on"), std::string::npos) << ran.err;
}

TEST_F(Commands, AWebhookIsSetForOneWhoIsThere) {
  broker_.answer("GET /v1/agents/nobody", 404, R"({"code":"NOT_FOUND","detail":"no principal"})");
  broker_.answer("GET /v1/agents/bo", 200, R"({"id":"bo"})");
  broker_.answer("POST /v1/agents", 200, R"({"id":"bo","webhook_secret":"whsec_x"})");
  const Ran wrong = call({"agent", "webhook", "nobody", "https://example.org/x"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("there is no agent nobody"), std::string::npos) << wrong.err;
  EXPECT_EQ(last().method + " " + last().target, "GET /v1/agents/nobody");
  EXPECT_EQ(call({"agent", "webhook", "bo", "https://example.org/x"}).out, "whsec_x\n");
}

TEST_F(Commands, APersonHasAWebhookToo) {
  broker_.answer("POST /v1/humans", 201,
                 R"({"id":"human:ada","token":"prl_h","webhook_secret":"whsec_y"})");
  broker_.answer("POST /v1/humans", 200, R"({"id":"human:ada","webhook_secret":"whsec_z"})");
  const Ran added = call({"human", "add", "ada", "--webhook", "https://example.org/x"});
  EXPECT_EQ(added.out, "prl_h\n");
  EXPECT_NE(added.err.find("whsec_y"), std::string::npos) << added.err;
  EXPECT_EQ(last().body, R"({"name":"ada","webhook":"https://example.org/x"})");
  broker_.answer("GET /v1/agents/human%3Aada", 200, R"({"id":"human:ada"})");
  EXPECT_EQ(call({"human", "webhook", "ada", "--rotate"}).out, "whsec_z\n");
  EXPECT_EQ(last().body, R"({"name":"ada","webhook":{"rotate_secret":true}})");
}

TEST_F(Commands, AgentAddChangesNoDialectThatItWasNotTold) {
  broker_.answer("POST /v1/agents", 200, R"({"id":"bo"})");
  const Ran ran = call({"agent", "add", "bo"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("No token is printed"), std::string::npos) << ran.err;
  EXPECT_EQ(last().body, R"({"id":"bo"})");
}

TEST_F(Commands, TheAdminTokenGoesToNoOtherAddress) {
  surroundings_.write("broker.json", "{\"url\":\"http://127.0.0.1:1\",\"pid\":" +
                                         std::to_string(::getpid()) + "}\n");
  surroundings_.write("admin.token", "prl_admin\n");
  const Ran ran = run_captured({"topics", "--url", broker_.url()});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("there is no token"), std::string::npos) << ran.err;
  EXPECT_TRUE(broker_.asked().empty());
}

TEST_F(Commands, WithoutABrokerTheAdviceIsToStartOne) {
  const Ran none = run_captured({"inbox"});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("no broker is running on " + surroundings_.data()), std::string::npos);
  EXPECT_NE(none.err.find("parley serve"), std::string::npos);
  surroundings_.write("broker.json", R"({"url":"http://127.0.0.1:1","pid":999999999})");
  EXPECT_NE(run_captured({"inbox"}).err.find("999999999, which left broker.json, is gone"),
            std::string::npos);
}

TEST_F(Commands, ATokenCanComeFromAFile) {
  broker_.answer("GET /v1/topics", 200, R"({"topics":[]})");
  const std::string file = surroundings_.write("bo.token", "prl_bo\n");
  EXPECT_EQ(run_captured({"topics", "--url", broker_.url(), "--token", "@" + file}).code, 0);
  EXPECT_EQ(last().authorization, "Bearer prl_bo");
  EXPECT_EQ(run_captured({"topics", "--url", broker_.url(), "--token", "a\r\nX: y"}).code, 1);
}

TEST_F(Commands, ConfigShowWorksWithoutABroker) {
  surroundings_.write("parley.toml", "flow.ttl.critical = \"2m\"\n");
  const Ran ran = run_captured({"config", "show"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("flow.ttl.critical"), std::string::npos);
  EXPECT_NE(ran.out.find(surroundings_.data() + "/parley.toml:1"), std::string::npos) << ran.out;
  const Ran json = run_captured({"config", "show", "--json", "--set", "queue_max=9"});
  EXPECT_NE(json.out.find(R"({"name":"queue_max","value":"9","default":"10000")"),
            std::string::npos)
      << json.out;
}

TEST_F(Commands, ConfigShowTellsWhatARunningBrokerGoesBy) {
  broker_.answer("GET /v1/rules", 200,
                 R"({"rules":[{"name":"queue_max","value":"77","default":"10000","help":"h"}]})");
  const Ran ran = call({"config", "show", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find(R"({"name":"queue_max","value":"77")"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(R"("origin":"broker")"), std::string::npos) << ran.out;
}

TEST_F(Commands, ABadConfigurationIsOneClearLine) {
  surroundings_.write("parley.toml", "lissten = \"x\"\n");
  const Ran ran = run_captured({"config", "show"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("parley.toml:1: there is no key \"lissten\"; the nearest is \"listen\" "
                         "(UNKNOWN_RULE)"),
            std::string::npos)
      << ran.err;
}

TEST(TakeArguments, HidesTheTokenFromListingsOfProcesses) {
  std::vector<std::string> words = {"parley", "inbox", "--token", "prl_a", "--token=prl_b", "x"};
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  const auto arguments = take_arguments(static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(arguments,
            (std::vector<std::string>{"inbox", "--token", "prl_a", "--token=prl_b", "x"}));
  EXPECT_EQ(words, (std::vector<std::string>{"parley", "inbox", "--token", "*****", "--token=*****",
                                             "x"}));
}

// SP-13
TEST(RouteTest, ShowsTheRouteAndTheDelegation) {
  const Surroundings surroundings;
  const Ran built_in = run_captured({"route", "test", "tests/github/issues.json"});
  EXPECT_EQ(built_in.code, 0) << built_in.err;
  EXPECT_TRUE(built_in.out.contains("9 of the built-in routes")) << built_in.out;
  EXPECT_TRUE(built_in.out.contains("Triage new issue #123: ")) << built_in.out;
  surroundings.write("parley.toml", "[[github.route]]\nlabel = \"bug\"\nworker = \"fixer\"\n");
  const Ran own = run_captured({"route", "test", "tests/github/issues.json", "--json"});
  EXPECT_EQ(own.code, 0) << own.err;
  lib::JsonDocument document;
  const auto json = document.parse(own.out);
  ASSERT_TRUE(json) << own.out;
  EXPECT_EQ(json->find("worker").as_string(), "fixer");
  EXPECT_EQ(json->find("route").as_uint64(), 1U);
  EXPECT_EQ(json->find("delegation").find("to_agent").as_string(), "fixer");
}

TEST(RouteTest, SaysWhyAnEventIsIgnored) {
  const Surroundings surroundings;
  const std::string file = surroundings.write("event.json", R"({"action":"closed","issue":{}})");
  const Ran closed = run_captured({"route", "test", file});
  EXPECT_EQ(closed.code, 3);
  EXPECT_TRUE(closed.out.contains("not issues.closed")) << closed.out;
  EXPECT_EQ(run_captured({"route", "test", file, "--event", "push"}).code, 3);
  EXPECT_EQ(run_captured({"route", "test", surroundings.write("e.json", "{}")}).code, 1);
  EXPECT_EQ(run_captured({"route", "test", "nowhere.json"}).code, 1);
  EXPECT_EQ(run_captured({"route", "test"}).code, 2);
}

}  // namespace
}  // namespace parley::app
