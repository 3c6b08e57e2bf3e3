// SPDX-License-Identifier: Apache-2.0
#include "core/machine/machine.h"
#include "core/delivery/dispatch.h"

#include <gtest/gtest.h>

#include "core/machine/faults_test.h"
#include "core/machine/random_test.h"
#include "core/machine/testing.h"

namespace parley::core {
namespace {

using base::Code;
using testing::a_send;
using testing::an_agent;
using testing::Bench;
using testing::fault_in;
using testing::Random;
using testing::RandomCommands;
using testing::target;
using testing::token_of;

Bench with_ana_and_bo() {
  Bench bench;
  bench.apply(broker_name, an_agent("ana"));
  bench.apply(broker_name, an_agent("bo"));
  return bench;
}

TEST(Machine, CommandAppliedTwiceActsOnce) {
  Bench bench = with_ana_and_bo();
  const Entry entry{bench.machine.seq().next(),  bench.now, {7, 100}, workspace_first, "ana",
                    a_send("ana", "m1").to("bo")};
  EXPECT_FALSE(bench.machine.was_applied({7, 100}));
  EXPECT_TRUE(bench.apply(entry).has_value());
  EXPECT_TRUE(bench.machine.was_applied({7, 100}));
  Entry again = entry;
  again.seq = bench.machine.seq().next();
  const Outcome repeated = bench.apply(again);
  ASSERT_FALSE(repeated.has_value());
  EXPECT_EQ(repeated.error().code, Code::conflict);
  EXPECT_TRUE(bench.effects.empty());
  EXPECT_EQ(bench.tables().messages.size(), 1u);
}

TEST(Machine, CommandsOfOtherOriginsAreOthers) {
  Bench bench = with_ana_and_bo();
  bench.number = 100;
  EXPECT_TRUE(bench.apply("ana", a_send("ana", "m1").to("bo")).has_value());
  bench.origin = 8;
  bench.number = 0;
  EXPECT_TRUE(bench.apply("ana", a_send("ana", "m2").to("bo")).has_value());
}

TEST(Machine, CommandsOfAnEndedLifeDoNothing) {
  Bench bench = with_ana_and_bo();
  bench.apply(broker_name, StartNode{"n"});
  EXPECT_EQ(bench.machine.life_of("n"), 7u);
  EXPECT_EQ(bench.machine.life_of("other"), 0u);
  bench.origin = 8;
  EXPECT_TRUE(bench.apply(broker_name, StartNode{"n"}).has_value());
  EXPECT_EQ(bench.machine.life_of("n"), 8u);
  bench.origin = 7;
  EXPECT_TRUE(bench.machine.was_applied({7, 1'000'000}));
  EXPECT_FALSE(bench.apply("bo", OpenStream{{7, 1}, 1}).has_value());
  EXPECT_EQ(bench.tables().streams.size(), 0u);
  // One that is late to start is refused, with all that it sends.
  bench.origin = 6;
  EXPECT_EQ(bench.apply(broker_name, StartNode{"n"}).error().code, Code::conflict);
  EXPECT_FALSE(bench.apply("ana", a_send("ana", "m1").to("bo")).has_value());
  EXPECT_EQ(bench.machine.life_of("n"), 8u);
}

TEST(Machine, StartToldTwiceClosesNothing) {
  Bench bench = with_ana_and_bo();
  bench.apply(broker_name, StartNode{"n"});
  bench.apply("bo", OpenStream{{bench.origin, 1}, 1});
  bench.apply(broker_name, StartNode{"n"});
  EXPECT_EQ(bench.tables().streams.size(), 1u);
}

TEST(Machine, RemembersABoundedNumberOfOrigins) {
  Bench bench;
  bench.apply(broker_name, Tick{});
  const CommandId first{bench.origin, bench.number};
  bench.number = 0;
  for (size_t n = 0; n < Machine::origins_max; ++n) {
    EXPECT_TRUE(bench.machine.was_applied(first));
    bench.origin = 1'000 + n;
    bench.apply(broker_name, Tick{});
  }
  EXPECT_FALSE(bench.machine.was_applied(first));
  EXPECT_TRUE(bench.machine.was_applied({bench.origin, 1}));
}

TEST(Machine, KnowsABoundedNumberOfNodesAndWorkspaces) {
  Bench bench;
  std::vector<std::string> names;
  for (size_t n = 0; n <= Machine::workspaces_max; ++n) {
    names.push_back("name " + std::to_string(n));
  }
  for (size_t n = 0; n < Machine::nodes_max; ++n) {
    EXPECT_TRUE(bench.apply(broker_name, StartNode{names[n]}).has_value());
  }
  EXPECT_EQ(bench.apply(broker_name, StartNode{"one more"}).error().code, Code::limit_reached);
  EXPECT_TRUE(bench.apply(broker_name, StartNode{names[0]}).has_value());
  EXPECT_EQ(bench.apply("ana", StartNode{names[0]}).error().code, Code::forbidden);
  for (size_t n = 1; n < Machine::workspaces_max; ++n) {
    EXPECT_TRUE(bench.apply(broker_name, AddWorkspace{names[n], token_of(names[n])}).has_value());
  }
  EXPECT_EQ(bench.apply(broker_name, AddWorkspace{"one more", token_of("t")}).error().code,
            Code::limit_reached);
}

TEST(Machine, WorkspacesMayBeAddedWithoutATokenForTheirAdmin) {
  Bench bench;
  EXPECT_TRUE(bench.apply(broker_name, AddWorkspace{"one", {}}).has_value());
  EXPECT_TRUE(bench.apply(broker_name, AddWorkspace{"two", {}}).has_value());
  EXPECT_EQ(bench.machine.find(WorkspaceId{1})->tables().agents.find_token({}), none);
}

TEST(Machine, UnknownWorkspaceIsNotFound) {
  Bench bench;
  EXPECT_EQ(bench.apply(broker_name, an_agent("ana"), WorkspaceId{5}).error().code,
            Code::not_found);
}

// The letters that a retry's own hand-outs bring about may push the retried one out.
TEST(Machine, RetriedLetterMayBeDroppedByTheRetry) {
  Bench bench = with_ana_and_bo();
  bench.apply("ana", a_send("ana", "first").to("bo").ttl(base::hours(1)));
  bench.apply("bo", Take{1});
  bench.apply("bo", Reject{target("first"), ""});
  std::vector<std::string> names;
  for (size_t n = 0; n < due_max + 10; ++n) {
    names.push_back(std::to_string(n));
    bench.apply("ana", a_send("ana", names.back()).to("bo").ttl(base::seconds(1)));
  }
  ASSERT_TRUE(bench.set("dead_letters_max", std::to_string(due_max + 2)).has_value());
  bench.now = bench.now + base::seconds(2);
  EXPECT_TRUE(bench.apply(broker_name, ResolveDeadLetter{1, Resolution::retried}).has_value());
  EXPECT_EQ(fault_in(bench.tables()), "");
  bench.apply("bo", Take{1});
  EXPECT_EQ(bench.seen<Deliver>().size(), 1u);
}

TEST(Machine, WorkDueAtOnceIsDoneInPartsAndTheRestIsStillDue) {
  Bench bench = with_ana_and_bo();
  ASSERT_TRUE(bench.set("flow.rate.throttled_max", "10000").has_value());
  std::vector<std::string> names;
  for (size_t n = 0; n < due_max + 1; ++n) {
    names.push_back(std::to_string(n));
    bench.apply("ana", a_send("ana", names.back()).to("bo").ttl(base::seconds(1)));
  }
  bench.wait(base::seconds(1));
  EXPECT_EQ(bench.seen<DeadLettered>().size(), due_max);
  EXPECT_LE(bench.machine.next_deadline(), bench.now);
  bench.wait({});
  EXPECT_EQ(bench.seen<DeadLettered>().size(), 1u);
  EXPECT_GT(bench.machine.next_deadline(), bench.now);
}

TEST(Machine, SessionsWhoseTimeIsOverEndInParts) {
  Bench bench;
  bench.apply(broker_name, an_agent("ana", Dialect::collab));
  ASSERT_TRUE(bench.set("sessions_per_agent_max", std::to_string(due_max + 1)));
  for (size_t n = 1; n <= due_max + 1; ++n) {
    const std::string name = std::to_string(n);
    ASSERT_TRUE(bench.apply("ana", StartSession{.id = name}));
  }
  bench.wait(bench.tables().rules.session_duration_max);
  const Sessions& sessions = bench.tables().sessions;
  EXPECT_TRUE(sessions.find(std::to_string(due_max))->is_over());
  EXPECT_FALSE(sessions.find(std::to_string(due_max + 1))->is_over());
  EXPECT_LE(bench.machine.next_deadline(), bench.now);
  bench.wait({});
  EXPECT_TRUE(sessions.find(std::to_string(due_max + 1))->is_over());
}

// Very much has expired before it. When the last of that goes, it is pushed: also when what goes is
// an urgent message far behind, because of which the others of its channel came first.
TEST(Machine, FreshMailBehindMuchThatHasExpiredIsPushed) {
  Bench bench = with_ana_and_bo();
  for (const std::string_view name : {"ben", "cy", "dee"}) {
    ASSERT_TRUE(bench.apply(broker_name, an_agent(name)));
  }
  for (const std::string_view rule :
       {"flow.rate.agent_out_per_min", "flow.rate.agent_in_per_min", "flow.rate.pair_per_min"}) {
    ASSERT_TRUE(bench.set(rule, "0"));
  }
  ASSERT_TRUE(bench.apply("bo", OpenStream{{bench.origin, 1}, 1}));
  ASSERT_TRUE(bench.apply("dee", a_send("dee", "held").to("bo")));
  ASSERT_EQ(bench.seen<Deliver>().size(), 1u);
  const Duration soon = base::milliseconds(1'000);
  for (size_t n = 0; n < due_max + 88; ++n) {
    const std::string name = "other" + std::to_string(n);
    ASSERT_TRUE(bench.apply("dee", a_send("dee", name).to("cy").ttl(soon)));
  }
  for (size_t n = 0; n < 100; ++n) {
    const std::string name = "low" + std::to_string(n);
    ASSERT_TRUE(bench.apply(
        "ben", a_send("ben", name).to("bo").urgent(Priority::low).ttl(base::milliseconds(1'006))));
  }
  ASSERT_TRUE(bench.apply(
      "ben",
      a_send("ben", "urgent").to("bo").urgent(Priority::critical).ttl(base::milliseconds(1'005))));
  ASSERT_TRUE(bench.apply("ana", a_send("ana", "fresh").to("bo")));
  const Seq fresh = bench.machine.seq();
  bench.now = bench.now + base::seconds(2);
  ASSERT_TRUE(bench.apply("bo", Ack{.target = core::testing::target("held")}));
  std::vector<Deliver> pushed = bench.seen<Deliver>();
  for (int n = 0; n < 10 && pushed.empty(); ++n) {
    bench.wait(Duration{});
    pushed = bench.seen<Deliver>();
  }
  ASSERT_EQ(pushed.size(), 1u);
  EXPECT_EQ(pushed.front().message, fresh);
}

// The newest of more tasks than that is read again when its lease is over.
TEST(Machine, AHeartbeatRenewsTheLeasesOfAsManyTasksAsATickDoes) {
  Bench bench;
  for (const auto& [name, role] : {std::pair{"dan", "director"}, std::pair{"sam", "specialist"}}) {
    Register command = an_agent(name, Dialect::inbox);
    command.role = role;
    ASSERT_TRUE(bench.apply(broker_name, command));
  }
  for (size_t n = 0; n < due_max + 1; ++n) {
    const std::string name = std::to_string(n);
    auto task = a_send("dan", name).to("sam");
    task.send.envelope.dialect = Dialect::inbox;
    task.send.envelope.kind = Kind::request;
    task.send.envelope.type = "task";
    task.send.envelope.task = name;
    ASSERT_TRUE(bench.apply("dan", task));
  }
  bench.apply("sam", Take{due_max + 1});
  ASSERT_EQ(bench.seen<Deliver>().size(), due_max + 1);
  const Seq newest = bench.seen<Deliver>().back().message;
  const Duration half{bench.tables().rules.inbox_lease.us / 2};
  bench.wait(half);
  ASSERT_TRUE(bench.apply("sam", Heartbeat{.status = "working"}));
  bench.wait(half);
  std::vector<Seq> waiting;
  const Tables& t = bench.tables();
  t.agents[t.agents.find("sam")].inbox.walk(t.messages, [&](DeliveryRef ref) {
    waiting.push_back(t.messages.message_of(ref).seq);
    return true;
  });
  EXPECT_EQ(waiting, std::vector<Seq>{newest});
}

TEST(Machine, DeadLettersBeyondALoweredLimitGoInParts) {
  Bench bench = with_ana_and_bo();
  ASSERT_TRUE(bench.set("malformed_per_min", "10000").has_value());
  for (size_t n = 0; n < due_max + 3; ++n) {
    bench.apply("ana", Malformed{"{", "no JSON"});
  }
  ASSERT_EQ(bench.tables().dead_letters.size(), due_max + 3);
  ASSERT_TRUE(bench.set("dead_letters_max", "1").has_value());
  EXPECT_EQ(bench.seen<DeadLetterDropped>().size(), due_max);
  EXPECT_LE(bench.machine.next_deadline(), bench.now);
  bench.wait({});
  EXPECT_EQ(bench.seen<DeadLetterDropped>().size(), 2u);
  EXPECT_EQ(bench.tables().dead_letters.dropped(), due_max + 2);
  EXPECT_GT(bench.machine.next_deadline(), bench.now);
  EXPECT_EQ(fault_in(bench.tables()), "");
}

// Whatever path an entry takes, it leaves no table above its limit.
TEST(Machine, LimitsHoldAfterARefusedEntryAndAfterANodeStarts) {
  Bench bench = with_ana_and_bo();
  bench.apply(broker_name, StartNode{"n"});
  bench.apply(broker_name, SetRules{{{"settled_max", "0"}, {"dead_letters_max", "1"}}});
  bench.apply("ana", a_send("ana", "m1").to("zed"));
  bench.apply("ana", a_send("ana", "m2").to("bo").ttl(base::seconds(1)));
  bench.now = bench.now + base::seconds(1);
  EXPECT_FALSE(bench.apply("stranger", Take{1}).has_value());
  EXPECT_EQ(fault_in(bench.tables()), "");

  bench.apply("bo", OpenStream{{bench.origin, 1}, 1});
  bench.apply("ana", a_send("ana", "m3").to("bo").ttl(base::seconds(1)));
  bench.now = bench.now + base::seconds(1);
  bench.origin = 8;
  EXPECT_TRUE(bench.apply(broker_name, StartNode{"n"}).has_value());
  EXPECT_EQ(bench.seen<StreamClosed>().size(), 1u);
  EXPECT_EQ(fault_in(bench.tables()), "");
}

TEST(Machine, LiveNamesTheMessagesInOrder) {
  Bench bench = with_ana_and_bo();
  const Seq first = bench.apply("ana", a_send("ana", "m1").to("bo"))->message;
  const Seq second = bench.apply("ana", a_send("ana", "m2").to("bo"))->message;
  EXPECT_EQ(bench.machine.live(), (std::vector<Seq>{first, second}));
  bench.set("settled_max", "0");
  bench.apply("bo", Take{1});
  bench.apply("bo", Ack{target("m1"), {}});
  EXPECT_EQ(bench.machine.live(), (std::vector<Seq>{second}));
}

// FL-02: what is kept of malformed messages is bounded.
TEST(Machine, AMalformedMessageBeyondTheBoundIsNotLive) {
  Bench bench = with_ana_and_bo();
  bench.set("malformed_bytes_max", "20");
  EXPECT_FALSE(bench.apply("ana", a_send("ana", "m1").to("bo").answers("none").body("short")));
  const Seq small = bench.machine.seq();
  EXPECT_FALSE(
      bench.apply("ana", a_send("ana", "m2").to("bo").answers("none").body("longer than that")));
  EXPECT_EQ(bench.tables().dead_letters.size(), 2u);
  bench.apply(broker_name, Unregister{"ana"});  // who is not told of them
  EXPECT_EQ(bench.machine.live(), (std::vector<Seq>{small}));
  bench.apply(broker_name, ResolveDeadLetter{2, Resolution::escalated});
  EXPECT_EQ(bench.machine.live(), (std::vector<Seq>{small}));
}

TEST(Machine, DigestTellsStatesApart) {
  Bench bench = with_ana_and_bo();
  const uint64_t before = bench.machine.digest();
  bench.apply("bo", Subscribe{"a.b"});
  EXPECT_NE(bench.machine.digest(), before);
}

TEST(Machine, TablesAgreeWithEachOtherUnderRandomWork) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCommands commands(seed);
    Bench bench;
    for (int step = 0; step < 1'500; ++step) {
      const auto asked = commands.next(bench.machine);
      bench.now = bench.now + commands.pause();
      bench.apply(asked.actor, asked.command, asked.workspace);
      for (const auto& [id, workspace] : bench.machine.workspaces()) {
        ASSERT_EQ(fault_in(workspace.tables()), "") << "step " << step;
      }
    }
  }
}

// Two seeds of the look-up tables, and one machine made anew from a snapshot now and then.
TEST(Machine, SameEntriesGiveTheSameState) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCommands commands(seed);
    Random random(seed);
    Bench one(1);
    Bench two(0xfeedface);
    Bench three(3);
    for (int step = 0; step < 600; ++step) {
      const auto asked = commands.next(one.machine);
      one.now = one.now + commands.pause();
      two.now = one.now;
      three.now = one.now;
      const Outcome outcome = one.apply(asked.actor, asked.command, asked.workspace);
      ASSERT_EQ(two.apply(asked.actor, asked.command, asked.workspace), outcome);
      ASSERT_EQ(three.apply(asked.actor, asked.command, asked.workspace), outcome);
      ASSERT_EQ(one.effects.size(), three.effects.size());
      ASSERT_EQ(one.effects, two.effects);
      ASSERT_EQ(one.machine.digest(), two.machine.digest()) << "step " << step;
      ASSERT_EQ(one.machine.digest(), three.machine.digest()) << "step " << step;
      ASSERT_EQ(one.machine.next_deadline(), three.machine.next_deadline());
      if (random.below(10) == 0) {
        three.machine = Machine::restore(one.machine.snapshot(), step).value();
      }
    }
  }
}

// Bytes of real commands with some of them changed: whatever decodes has an outcome.
TEST(Machine, EveryEntryThatDecodesHasAnOutcome) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCommands commands(seed);
    Random random(seed);
    Bench bench;
    for (int step = 0; step < 1'500; ++step) {
      const auto asked = commands.next(bench.machine);
      std::string bytes;
      encode(Entry{{}, {}, {7, ++bench.number}, asked.workspace, asked.actor, asked.command},
             bytes);
      for (uint32_t left = random.below(3); left > 0; --left) {
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      }
      const auto entry = decode_entry(bench.machine.seq().next(), bench.now, bytes);
      if (entry) {
        bench.apply(*entry);
        bench.number = std::max(bench.number, entry->id.number == ~uint64_t{0} ? 0 : bench.number);
        bench.now = bench.now + commands.pause();
      }
    }
    ASSERT_EQ(fault_in(bench.tables()), "");
    ASSERT_TRUE(Machine::restore(bench.machine.snapshot()).has_value());
  }
}

// The broker's own message leaves no dead letter that would keep the name.
TEST(Machine, AnEffectNamesAnAgentThatIsGone) {
  Bench bench;
  bench.set("settled_max", "0");
  bench.apply(broker_name, an_agent("ana"));
  bench.apply("ana", a_send("ana", "m1").to("zed"));
  Send notice;
  notice.envelope.id = testing::id_of("n1");
  notice.envelope.sender = broker_sender;
  notice.envelope.receivers = {"ana"};
  notice.outbox_item = 1;
  ASSERT_TRUE(bench.apply(broker_name, notice).has_value());
  ASSERT_TRUE(bench.apply(broker_name, Unregister{"ana"}).has_value());
  const std::vector<Settled> settled = bench.seen<Settled>();
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(bench.tables().agents[settled[0].receiver].name, "ana");
}

// The request in it is not answered: how much was said is not how much is open.
TEST(Machine, WhoTookPartInAClosedThreadIsToldHowManyMessagesItHad) {
  Bench bench = with_ana_and_bo();
  for (const std::string_view name : {"m1", "m2", "m3"}) {
    testing::SendBuilder builder = a_send("ana", name).to("bo");
    builder.send.envelope.thread = "t1";
    builder.send.envelope.kind = name == "m3" ? Kind::request : Kind::notification;
    ASSERT_TRUE(bench.apply("ana", builder).has_value());
  }
  ASSERT_TRUE(bench.apply("ana", CloseThread{"t1"}).has_value());
  const auto& owed = bench.tables().outbox.all();
  ASSERT_EQ(owed.size(), 1u);
  const OutboxItem& item = owed.begin()->second;
  EXPECT_EQ(item.kind, OutboxKind::thread_closed);
  EXPECT_EQ(item.to, "bo");
  const std::vector<Fact> facts = {{"thread", "t1"},
                                   {"closed_by", "ana"},
                                   {"owner", "ana"},
                                   {"messages", int64_t{3}},
                                   {"began", testing::start_time}};
  EXPECT_EQ(item.facts, facts);
}

}  // namespace
}  // namespace parley::core
