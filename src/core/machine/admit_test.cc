// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/machine/machine.h"
#include "core/machine/random_test.h"
#include "core/machine/testing.h"

namespace parley::core {
namespace {

using base::Code;
using testing::a_send;
using testing::an_agent;
using testing::Bench;
using testing::RandomCommands;
using testing::target;
using testing::token_of;

// Two agents, and what the door says to what they ask.
struct Door : Bench {
  Door() {
    apply(broker_name, an_agent("ana"));
    apply(broker_name, an_agent("bo"));
  }
  std::optional<Code> ask(std::string_view actor, Command command) const {
    const auto error =
        machine.admit(Entry{{}, now, {}, workspace_first, actor, std::move(command)});
    return error ? std::optional(error->code) : std::nullopt;
  }
};

TEST(Door, RefusesWhatTheBudgetDoesNotAllowUntilTheDayIsOver) {
  Door door;
  door.set("guard.messages_per_day", "1");
  EXPECT_EQ(door.ask("ana", a_send("ana", "m1").to("bo")), std::nullopt);
  ASSERT_TRUE(door.apply("ana", a_send("ana", "m1").to("bo")));
  EXPECT_EQ(door.ask("ana", a_send("ana", "m2").to("bo")), Code::budget_exceeded);
  // The same message again is no new one.
  EXPECT_EQ(door.ask("ana", a_send("ana", "m1").to("bo")), std::nullopt);
  EXPECT_EQ(door.ask("bo", a_send("bo", "m3").to("ana")), std::nullopt);
  // Nobody writes anything meanwhile: the clock alone lets it pass.
  door.now = door.now + base::hours(24);
  EXPECT_EQ(door.ask("ana", a_send("ana", "m2").to("bo")), std::nullopt);
}

TEST(Door, RefusesWhatNobodyMaySettleOrDo) {
  Door door;
  EXPECT_EQ(door.ask("bo", Ack{target("m1"), {}}), Code::not_found);
  EXPECT_EQ(door.ask("bo", Nack{.target = target("m1")}), Code::not_found);
  ASSERT_TRUE(door.apply("ana", a_send("ana", "m1").to("bo")));
  EXPECT_EQ(door.ask("bo", Ack{target("m1"), {}}), std::nullopt);
  EXPECT_EQ(door.ask("bo", Nack{.target = target("m1")}), Code::not_delivered);
  EXPECT_EQ(door.ask("ana", SetRules{{{"queue_max", "1"}}}), Code::forbidden);
  Register di = an_agent("di");
  di.kind = PrincipalKind::human;
  di.rights = {"maintainer"};
  ASSERT_TRUE(door.apply(broker_name, di));
  EXPECT_EQ(door.ask("di", ResetLimits{"ana"}), Code::forbidden);
  EXPECT_EQ(door.ask("di", SetRules{{{"queue_max", "1"}}}), Code::forbidden);
  EXPECT_EQ(door.ask("nobody", Take{.count_max = 1}), Code::forbidden);
  EXPECT_EQ(door.ask("ana", a_send("bo", "m2").to("ana")), Code::forbidden);
}

// What is not there, or not a name, is not written down to be looked for.
TEST(Door, RefusesWhatIsNotThere) {
  Door door;
  EXPECT_EQ(door.ask("ana", Subscribe{"no_dot"}), Code::bad_request);
  EXPECT_EQ(door.ask("ana", Unsubscribe{"build.done"}), Code::not_found);
  EXPECT_EQ(door.ask("ana", CloseThread{"c1"}), Code::not_found);
  EXPECT_EQ(door.ask("ana", ReassignTask{.task = "t1", .to = "bo"}), Code::not_found);
  ASSERT_TRUE(door.apply("ana", Subscribe{"build.done"}));
  EXPECT_EQ(door.ask("ana", Unsubscribe{"build.done"}), std::nullopt);
  EXPECT_EQ(door.ask("ana", Subscribe{"build.failed"}), std::nullopt);
  Register root = an_agent("root");
  root.kind = PrincipalKind::admin;
  ASSERT_TRUE(door.apply(broker_name, root));
  EXPECT_EQ(door.ask("root", ResolveDeadLetter{.id = 9, .resolution = Resolution::discarded}),
            Code::not_found);
  EXPECT_EQ(door.ask("root", ResolveEscalation{.id = 9, .resolution = "so"}), Code::not_found);
  EXPECT_EQ(door.ask("root", SetRules{{{"queue_max", "-1"}}}), Code::bad_rule_value);
  EXPECT_EQ(door.ask("root", SetRules{{{"queue_max", "7"}}}), std::nullopt);
  EXPECT_EQ(door.ask("ana", ResolveDeadLetter{.id = 9}), Code::forbidden);
}

TEST(Door, RefusesRegistrationsLocksAndSessionsThatAreNotTheActors) {
  Door door;
  EXPECT_EQ(door.ask("ana", an_agent("cy")), Code::forbidden);
  EXPECT_EQ(door.ask("ana", an_agent("bo")), Code::forbidden);
  EXPECT_EQ(door.ask("ana", an_agent("broadcast")), Code::bad_request);
  EXPECT_EQ(door.ask("ana", Unregister{"bo"}), Code::forbidden);
  EXPECT_EQ(door.ask("ana", Unregister{"nobody"}), Code::forbidden);
  EXPECT_EQ(door.ask("ana", Unregister{"ana"}), std::nullopt);
  EXPECT_EQ(door.ask("ana", ReleaseLock{.name = "build"}), Code::not_found);
  ASSERT_TRUE(door.apply("bo", TakeLock{.name = "build"}));
  EXPECT_EQ(door.ask("ana", ReleaseLock{.name = "build"}), Code::lock_held);
  EXPECT_EQ(door.ask("bo", ReleaseLock{.name = "build", .fence = Seq{1}}), Code::conflict);
  EXPECT_EQ(door.ask("bo", ReleaseLock{.name = "build"}), std::nullopt);
  ASSERT_TRUE(door.apply("ana", TakeLock{.name = "build", .wait = base::seconds(5)}));
  EXPECT_EQ(door.ask("ana", ReleaseLock{.name = "build"}), std::nullopt);
  const std::vector<std::string_view> nobody = {"nobody"};
  EXPECT_EQ(door.ask("ana", StartSession{.id = "s", .participants = nobody}),
            Code::receiver_not_found);
  EXPECT_EQ(door.ask("ana", StartSession{.id = "s", .coordinator = "bo"}), Code::forbidden);
  EXPECT_EQ(door.ask("ana", StartSession{.id = "s"}), std::nullopt);
}

// What is due comes first: it may make room.
TEST(Door, LetsTimePassFirst) {
  Door door;
  door.set("queue_max", "1");
  ASSERT_TRUE(door.apply("ana", a_send("ana", "m1").to("bo").ttl(base::seconds(5))));
  EXPECT_EQ(door.ask("ana", a_send("ana", "m2").to("bo")), Code::queue_full);
  door.now = door.now + base::seconds(5);
  EXPECT_EQ(door.ask("ana", a_send("ana", "m2").to("bo")), std::nullopt);
}

// A tick for old threads comes at a full second, and whatever is asked before ends them too.
TEST(Door, LetsInWhatComesWhenAThreadIsOver) {
  Door door;
  door.set("thread_duration_max", "1500ms");
  auto first = a_send("ana", "m1").to("bo");
  first.send.envelope.thread = "c1";
  ASSERT_TRUE(door.apply("ana", first));
  const Command unheard = Take{.count_max = 1};
  EXPECT_EQ(door.ask("nobody", unheard), Code::forbidden);
  door.now = door.now + base::milliseconds(1'500);
  ASSERT_GT(door.machine.next_deadline(), door.now);
  EXPECT_EQ(door.ask("nobody", unheard), std::nullopt);
  EXPECT_EQ(door.apply("nobody", unheard).error().code, Code::forbidden);
  EXPECT_FALSE(door.effects.empty());
  EXPECT_EQ(door.ask("nobody", unheard), Code::forbidden);
}

// It is refused for its token, whoever asks.
TEST(Door, LeavesTokensOfOtherWorkspacesToTheLaw) {
  Door door;
  ASSERT_TRUE(door.apply(broker_name, AddWorkspace{"lab", token_of("t")}));
  Register command = an_agent("cy");
  EXPECT_EQ(door.ask("nobody", command), Code::forbidden);
  command.token = token_of("t");
  EXPECT_EQ(door.ask("nobody", command), std::nullopt);
  EXPECT_EQ(door.apply("nobody", command).error().code, Code::conflict);
}

// FL-02: what is malformed leaves a dead letter, but for more of them than are kept.
TEST(Door, LetsTheMalformedInThatAreKept) {
  Door door;
  door.set("malformed_per_min", "2");
  const Command bad = a_send("ana", "m1");  // has no receiver
  for (int kept = 0; kept < 2; ++kept) {
    EXPECT_EQ(door.ask("ana", bad), std::nullopt);
    EXPECT_EQ(door.ask("ana", Malformed{.text = "x", .error = "y"}), std::nullopt);
    EXPECT_EQ(door.apply("ana", bad).error().code, Code::bad_request);
  }
  EXPECT_EQ(door.ask("ana", bad), Code::bad_request);
  EXPECT_EQ(door.ask("ana", Malformed{.text = "x", .error = "y"}), Code::rate_limited);
  EXPECT_EQ(door.tables().dead_letters.all().size(), 2u);
  door.now = door.now + base::minutes(1);
  EXPECT_EQ(door.ask("ana", bad), std::nullopt);
}

// SP-14: what is counted is written down, and no more than that.
TEST(Door, LetsViolationsOfAProtocolInAtABoundedRate) {
  Door door;
  for (const std::string_view name : {"wil", "wes"}) {
    ASSERT_TRUE(door.apply(broker_name, an_agent(name, Dialect::superprompt)));
  }
  door.set("violations_per_min", "1");
  EXPECT_EQ(door.ask("wil", a_send("wil", "m1").to("wes")), std::nullopt);
  EXPECT_EQ(door.apply("wil", a_send("wil", "m1").to("wes")).error().code,
            Code::not_via_orchestrator);
  EXPECT_EQ(door.ask("wil", a_send("wil", "m1").to("wes")), Code::not_via_orchestrator);
  EXPECT_EQ(door.ask("wes", a_send("wes", "m2").to("wil")), std::nullopt);
  door.now = door.now + base::minutes(1);
  EXPECT_EQ(door.ask("wil", a_send("wil", "m1").to("wes")), std::nullopt);
}

// The advice is what the law says: the same code, and nothing that comes of it.
TEST(Door, IsNeverStricterThanApply) {
  size_t refused = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCommands commands(seed);
    Bench bench;
    for (int step = 0; step < 1'000; ++step) {
      const auto asked = commands.next(bench.machine);
      bench.now = bench.now + commands.pause();
      const auto advice = bench.machine.admit(
          Entry{{}, bench.now, {}, asked.workspace, asked.actor, asked.command});
      const Outcome outcome = bench.apply(asked.actor, asked.command, asked.workspace);
      if (advice) {
        ++refused;
        ASSERT_FALSE(outcome) << "step " << step << ": " << advice->detail;
        ASSERT_EQ(outcome.error().code, advice->code) << "step " << step << advice->detail;
        ASSERT_TRUE(bench.effects.empty()) << "step " << step << ": " << advice->detail;
      }
    }
  }
  EXPECT_GT(refused, 1'000u);
}

}  // namespace
}  // namespace parley::core
