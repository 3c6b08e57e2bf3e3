// SPDX-License-Identifier: Apache-2.0
#include "app/route_command.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "app/scripted_broker_test.h"

namespace parley::app {
namespace {

using Kind = Argument::Kind;

class RouteCommands : public testing::Test {
 protected:
  RouteCommands() { broker_.answer_all(200, R"({"id":"a","count":7})"); }

  // Runs the program that has this row alone.
  Ran call(const RouteCommand& row, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--url", broker_.url(), "--token", "prl_test"});
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    CommandLine command_line("parley", "A test", "parley 0");
    Ran ran{.code = -1};
    add_route_command(command_line.root(), ran.code, row);
    parsed_ = command_line.parse(std::move(arguments));
    std::fflush(stdout);
    ran.out = testing::internal::GetCapturedStdout();
    ran.err = testing::internal::GetCapturedStderr();
    return ran;
  }
  ScriptedBroker::Asked last() const {
    const auto asked = broker_.asked();
    return asked.empty() ? ScriptedBroker::Asked{} : asked.back();
  }

  Surroundings surroundings_;
  ScriptedBroker broker_;
  CommandLine::Parsed parsed_ = CommandLine::Parsed::ran;
};

RouteCommand change() {
  return {.name = "change",
          .help = "Change one",
          .arguments = {required("ID", "It"),
                        required("TEXT", "What it says"),
                        {.name = "--note", .help = "Why"},
                        {.name = "--tag", .help = "One of it", .kind = Kind::repeated},
                        {.name = "--part", .help = "Some of it", .kind = Kind::several},
                        {.name = "--size", .help = "Its size", .kind = Kind::number},
                        {.name = "--broken",
                         .help = "It is not whole",
                         .kind = Kind::flag,
                         .value = "false"}},
          .call = "POST /v1/things/{ID}/change?size={--size}&kind=any&note={--note}",
          .body = Body{{"state", "changed"},
                       {"text", "{TEXT}"},
                       {"note", "{--note}"},
                       {"tags", "{--tag}"},
                       {"parts", "{--part}"},
                       {"size", "{--size}"},
                       {"whole", "{--broken}"}},
          .show = says("changed {ID} {count} times")};
}

TEST_F(RouteCommands, WhatIsGivenStandsWhereTheRowNamesIt) {
  const Ran ran = call(change(), {"change", "a/b", "new", "--note", "x&y", "--tag", "p", "--tag",
                                  "q", "--part", "r", "s", "--size", "3", "--broken"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "changed a/b 7 times\n");
  EXPECT_EQ(last().method, "POST");
  EXPECT_EQ(last().target, "/v1/things/a%2Fb/change?size=3&kind=any&note=x%26y");
  EXPECT_EQ(last().body, R"({"state":"changed","text":"new","note":"x&y","tags":["p","q"],)"
                         R"("parts":["r","s"],"size":3,"whole":false})");
}

TEST_F(RouteCommands, WhatIsNotGivenIsLeftOut) {
  EXPECT_EQ(call(change(), {"change", "a", "new", "--note", "", "--size", "0"}).code, 0);
  EXPECT_EQ(last().target, "/v1/things/a/change?kind=any");
  EXPECT_EQ(last().body, R"({"state":"changed","text":"new"})");
}

TEST_F(RouteCommands, ARequiredTextThatIsEmptyIsSent) {
  EXPECT_EQ(call(change(), {"change", "a", ""}).code, 0);
  EXPECT_EQ(last().body, R"({"state":"changed","text":""})");
}

TEST_F(RouteCommands, AListIsSentWithWhatItHas) {
  EXPECT_EQ(call(change(), {"change", "a", "new", "--tag", "", "--tag", "q"}).code, 0);
  EXPECT_EQ(last().body, R"({"state":"changed","text":"new","tags":["","q"]})");
}

TEST_F(RouteCommands, ABodyWithoutMembersIsNotNoBody) {
  RouteCommand row{.name = "end", .help = "End it", .call = "POST /v1/end", .show = says("ended")};
  EXPECT_EQ(call(row, {"end"}).code, 0);
  EXPECT_EQ(last().body, "");
  row.body = Body{};
  EXPECT_EQ(call(row, {"end"}).code, 0);
  EXPECT_EQ(last().body, "{}");
}

TEST_F(RouteCommands, JsonIsTheAnswerItself) {
  EXPECT_EQ(call(change(), {"change", "a", "b", "--json"}).out, "{\"id\":\"a\",\"count\":7}\n");
}

TEST_F(RouteCommands, ARefusalIsNotShown) {
  broker_.answer("POST /v1/things/a/change", 409, R"({"code":"CONFLICT","detail":"not now"})");
  const Ran ran = call(change(), {"change", "a", "b"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(ran.err.starts_with("parley: not now (CONFLICT)")) << ran.err;
}

// A group that is a command as well: `thing ID`, `thing list`.
RouteCommand group() {
  const Argument owner{.name = "--owner", .help = "Whose it is"};
  return {.name = "thing",
          .help = "Show one",
          .arguments = {{.name = "ID", .help = "It"}, owner},
          .call = "GET /v1/things/{ID}?owner={--owner}",
          .show = says("{id}"),
          .subcommands = {{.name = "list",
                           .help = "List them",
                           .arguments = {owner, limit_of(500)},
                           .call = "GET /v1/things?limit={--limit}&owner={--owner}",
                           .show = lists("things", "no things", {{"ID", member("id")}})}}};
}

TEST_F(RouteCommands, AGroupWithACallRunsWithoutASubcommand) {
  EXPECT_EQ(call(group(), {"thing", "a"}).out, "a\n");
  EXPECT_EQ(last().target, "/v1/things/a");
  EXPECT_EQ(call(group(), {"thing", "list"}).out, "no things\n");
  EXPECT_EQ(last().target, "/v1/things?limit=100");
}

TEST_F(RouteCommands, WithoutASubcommandTheArgumentInThePathIsNeeded) {
  const Ran ran = call(group(), {"thing"});
  EXPECT_EQ(parsed_, CommandLine::Parsed::wrong);
  EXPECT_EQ(ran.err, "parley: ID is required\nSee `parley thing --help`.\n");
  EXPECT_TRUE(broker_.asked().empty());
}

TEST_F(RouteCommands, WhatTheGroupIsGivenCountsForItsSubcommand) {
  EXPECT_EQ(call(group(), {"thing", "--owner", "bo", "list"}).code, 0);
  EXPECT_EQ(last().target, "/v1/things?limit=100&owner=bo");
}

TEST_F(RouteCommands, OfSeveralTextsThereCanBeAMost) {
  const RouteCommand row{.name = "find",
                         .help = "Find some",
                         .arguments = {{.name = "--kind",
                                        .help = "Only those",
                                        .kind = Kind::several,
                                        .texts_max = 1}},
                         .call = "GET /v1/things?kind={--kind}",
                         .show = says("found")};
  EXPECT_EQ(call(row, {"find", "--kind", "a"}).code, 0);
  EXPECT_EQ(last().target, "/v1/things?kind=a");
  const Ran ran = call(row, {"find", "--kind", "a", "b"});
  EXPECT_EQ(parsed_, CommandLine::Parsed::wrong);
  EXPECT_TRUE(ran.err.starts_with("parley: --kind: At Most 1 required")) << ran.err;
}

TEST_F(RouteCommands, ALimitHasARange) {
  for (const char* limit : {"0", "501", "many"}) {
    call(group(), {"thing", "list", "--limit", limit});
    EXPECT_EQ(parsed_, CommandLine::Parsed::wrong) << limit;
  }
  EXPECT_TRUE(broker_.asked().empty());
}

}  // namespace
}  // namespace parley::app
