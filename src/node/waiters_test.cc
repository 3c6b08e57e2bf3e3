// SPDX-License-Identifier: Apache-2.0
#include "node/waiters.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/machine/testing.h"

namespace parley::node {
namespace {

using base::Code;
using base::Seq;
using core::workspace_first;
using core::testing::a_send;
using core::testing::an_agent;
using core::testing::target;

// A machine whose effects are heard.
struct Bench : core::testing::Bench {
  Waiters waiters;
  std::vector<Answer> answers;

  Bench() {
    act(core::broker_name, an_agent("ana"));
    act(core::broker_name, an_agent("bo"));
  }
  core::Outcome act(std::string_view actor, core::Command command) {
    const core::Entry entry{machine.seq().next(), now,   {origin, ++number},
                            workspace_first,      actor, std::move(command)};
    const core::Outcome outcome = apply(entry);
    for (const core::Effect& effect : effects) {
      waiters.hear(machine, entry, effect);
    }
    return outcome;
  }
  Seq ask(std::string_view name) {
    core::testing::SendBuilder question = a_send("ana", name).to("bo");
    question.send.envelope.kind = core::Kind::request;
    question.send.envelope.response_timeout = base::minutes(1);
    return act("ana", question)->message;
  }
  Waiter wait_for(Seq question) {
    return waiters.on_answer(workspace_first, question,
                             [this](Answer answer) { answers.push_back(answer); });
  }
};

TEST(Waiters, MailWakesAllWhoWaitForItOnce) {
  Bench bench;
  const core::AgentRef bo = bench.tables().agents.find("bo");
  int woken = 0;
  for (int n = 0; n < 2; ++n) {
    bench.waiters.on_mail(workspace_first, bo, [&woken] { ++woken; });
  }
  bench.waiters.on_mail(workspace_first, bench.tables().agents.find("ana"), [&woken] { ++woken; });
  EXPECT_TRUE(bench.waiters.is_awaited(workspace_first, bo));
  bench.act("ana", a_send("ana", "m1").to("bo"));
  EXPECT_EQ(woken, 2);
  EXPECT_FALSE(bench.waiters.is_awaited(workspace_first, bo));
  bench.act("ana", a_send("ana", "m2").to("bo"));
  EXPECT_EQ(woken, 2);
}

TEST(Waiters, OneWhoIsWokenMayWaitAgainFromWithin) {
  Bench bench;
  const core::AgentRef bo = bench.tables().agents.find("bo");
  int woken = 0;
  bench.waiters.on_mail(workspace_first, bo, [&] {
    ++woken;
    bench.waiters.on_mail(workspace_first, bo, [&woken] { ++woken; });
  });
  bench.act("ana", a_send("ana", "m1").to("bo"));
  EXPECT_EQ(woken, 1);
  bench.act("ana", a_send("ana", "m2").to("bo"));
  EXPECT_EQ(woken, 2);
}

TEST(Waiters, AnAnswerIsToldWithItsPlace) {
  Bench bench;
  bench.wait_for(bench.ask("m1"));
  bench.act("bo", core::Take{1});
  EXPECT_TRUE(bench.answers.empty());
  bench.act("bo", a_send("bo", "r1").to("ana").answers("m1"));
  ASSERT_EQ(bench.answers.size(), 1u);
  EXPECT_EQ(bench.answers[0], Answer(bench.machine.seq()));
}

TEST(Waiters, AQuestionThatFailedForAllIsNotAnswered) {
  Bench bench;
  bench.wait_for(bench.ask("m1"));
  bench.act("bo", core::Take{1});
  bench.act("bo", core::Reject{target("m1"), "no"});
  ASSERT_EQ(bench.answers.size(), 1u);
  EXPECT_EQ(bench.answers[0], Answer(std::unexpected(Code::not_answered)));
}

TEST(Waiters, AnAckIsNoAnswerAndTheEndOfItsTimeIsTold) {
  Bench bench;
  bench.wait_for(bench.ask("m1"));
  bench.act("bo", core::Take{1});
  bench.act("bo", core::Ack{target("m1"), {}});
  EXPECT_TRUE(bench.answers.empty());
  bench.now = bench.now + base::minutes(1);
  bench.act(core::broker_name, core::Tick{});
  ASSERT_EQ(bench.answers.size(), 1u);
  EXPECT_EQ(bench.answers[0], Answer(std::unexpected(Code::timeout)));
}

TEST(Waiters, ALocksTurnIsTold) {
  Bench bench;
  const core::Entry entry;
  for (const bool granted : {true, false}) {
    bench.wait_for(Seq{7});
    bench.waiters.hear(
        bench.machine, entry,
        core::LockTurn{.workspace = workspace_first, .place = Seq{7}, .granted = granted});
  }
  EXPECT_EQ(bench.answers, (std::vector<Answer>{Answer(Seq{7}), std::unexpected(Code::timeout)}));
}

TEST(Waiters, OneWhoIsForgottenIsNotTold) {
  Bench bench;
  const Seq question = bench.ask("m1");
  const Waiter gone = bench.wait_for(question);
  bench.wait_for(question);
  bench.waiters.forget(gone);
  bench.waiters.forget(gone);
  bench.act("bo", a_send("bo", "r1").to("ana").answers("m1"));
  EXPECT_EQ(bench.answers.size(), 1u);
  bench.waiters.forget(gone);
}

// Many calls of one client wait for the same, and hang up at once, the newest first: each
// leaves alone. This takes 0.15 s; looking at all of the others each time took a minute.
TEST(Waiters, ThoseWhoWaitLeaveOneByOne) {
  Waiters waiters;
  std::vector<Waiter> waiting;
  for (int n = 0; n < 200'000; ++n) {
    waiting.push_back(waiters.on_mail(workspace_first, 1, [] {}));
    waiting.push_back(waiters.on_answer(workspace_first, Seq{1}, [](Answer) {}));
  }
  while (waiting.size() > 1) {
    waiters.forget(waiting.back());
    waiting.pop_back();
    ASSERT_TRUE(waiters.is_awaited(workspace_first, 1));
  }
  waiters.forget(waiting.back());
  EXPECT_FALSE(waiters.is_awaited(workspace_first, 1));
}

TEST(Waiters, AnApprovalWakesThoseWhoWaitForItOrForAny) {
  Bench bench;
  bench.act(core::broker_name,
            core::Register{
                .name = "human:mia", .kind = core::PrincipalKind::human, .rights = {"approver"}});
  std::vector<int> woken;
  bench.waiters.on_approval(workspace_first, 1, [&woken] { woken.push_back(1); });
  bench.waiters.on_approval(workspace_first, 2, [&woken] { woken.push_back(2); });
  bench.waiters.on_approval(workspace_first, 0, [&woken] { woken.push_back(0); });
  const Waiter gone =
      bench.waiters.on_approval(workspace_first, 1, [&woken] { woken.push_back(3); });
  bench.waiters.forget(gone);
  const core::AskApproval ask{.id = core::testing::id_of("p1"), .summary = "s", .text = "{}"};
  ASSERT_TRUE(bench.act("ana", ask));
  EXPECT_EQ(woken, (std::vector<int>{1, 0}));
  woken.clear();
  bench.waiters.on_approval(workspace_first, 1, [&woken] { woken.push_back(1); });
  ASSERT_TRUE(bench.act(
      "ana", core::DecideApproval{.id = 1, .decision = core::ApprovalDecision::withdraw}));
  EXPECT_EQ(woken, std::vector<int>{1}) << "it has ended";
}

}  // namespace
}  // namespace parley::node
