// SPDX-License-Identifier: Apache-2.0
// A principal is removed for whom more waits than one entry should bury.
#include <gtest/gtest.h>

#include <string>

#include "core/delivery/dispatch.h"
#include "core/machine/faults_test.h"
#include "core/machine/random_test.h"
#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::a_send;
using testing::an_agent;
using testing::Bench;
using testing::Random;
using testing::RandomCommands;
using testing::target;

constexpr size_t many = 2 * due_max + 100;

void apply_no_limits(Bench& bench) {
  for (const std::string_view rule :
       {"flow.rate.agent_in_per_min", "flow.rate.agent_out_per_min", "flow.rate.pair_per_min",
        "flow.rate.topic_per_min", "guard.fan_out_per_min", "guard.messages_per_day",
        "guard.ping_pong_max", "breaker.queue_percent"}) {
    ASSERT_TRUE(bench.set(rule, "0")) << rule;
  }
}

// bo has `count` messages: one of a topic, the others of ana by name; m0 is held, m1 given back
// with a delay.
Bench with_many(size_t count, uint64_t hash_seed = 0) {
  Bench bench(hash_seed);
  apply_no_limits(bench);
  bench.apply(broker_name, an_agent("ana"));
  bench.apply(broker_name, an_agent("bo"));
  bench.apply("bo", Subscribe{"a.b"});
  for (size_t n = 0; n < count; ++n) {
    const auto sent =
        bench.apply("ana", a_send("ana", "m" + std::to_string(n)).to(n == 2 ? "a.b" : "bo"));
    EXPECT_TRUE(sent);
  }
  bench.apply("bo", Take{2});
  bench.apply("bo", Nack{target("m1"), base::seconds(30), "later"});
  return bench;
}

void tick(Bench& bench) { bench.apply(broker_name, Tick{}); }

TEST(Removal, BuriesAtOnceWhatAnEntryCanBury) {
  Bench bench = with_many(due_max);
  ASSERT_TRUE(bench.apply(broker_name, Unregister{"bo"}));
  EXPECT_EQ(bench.seen<DeadLettered>().size(), due_max);
}

TEST(Removal, BuriesMoreInParts) {
  Bench bench = with_many(many);
  ASSERT_TRUE(bench.apply(broker_name, Unregister{"bo"}));
  size_t dead = bench.seen<DeadLettered>().size();
  EXPECT_EQ(dead, 0u);
  for (int ticks = 0; bench.machine.next_deadline() <= bench.now && ticks < 10; ++ticks) {
    tick(bench);
    EXPECT_LE(bench.seen<DeadLettered>().size(), due_max);
    dead += bench.seen<DeadLettered>().size();
  }
  EXPECT_EQ(dead, many);
  const Tables& t = bench.tables();
  ASSERT_EQ(t.dead_letters.size(), many);
  Seq before{};
  for (const auto& [id, letter] : t.dead_letters.all()) {
    ASSERT_LT(before, letter.message);  // the oldest first
    before = letter.message;
    ASSERT_EQ(letter.receiver, "bo");
    ASSERT_EQ(letter.reason, Reason::receiver_not_found);
    ASSERT_EQ(letter.last_error, id == 3 ? "a subscriber was removed" : "the receiver was removed");
    ASSERT_NE(letter.notice, 0u);
  }
  EXPECT_EQ(t.outbox.size(), many);
  EXPECT_EQ(t.agents[t.agents.find("bo")].inbox.unsettled, 0u);
}

TEST(Removal, IsTheSameAfterASnapshotInBetween) {
  Bench bench = with_many(many);
  bench.apply(broker_name, Unregister{"bo"});
  Bench other(5);
  other.now = bench.now;
  other.number = bench.number;
  other.machine = Machine::restore(bench.machine.snapshot(), 5).value();
  for (int ticks = 0; bench.machine.next_deadline() <= bench.now && ticks < 10; ++ticks) {
    ASSERT_EQ(other.machine.next_deadline(), bench.machine.next_deadline());
    tick(bench);
    tick(other);
    ASSERT_EQ(other.machine.digest(), bench.machine.digest());
  }
  EXPECT_EQ(other.tables().dead_letters.size(), many);
}

TEST(Removal, WhoGetsTheNameMeanwhileHasNothingOfTheFormer) {
  Bench bench = with_many(many);
  bench.set("queue_max", std::to_string(many));
  bench.apply(broker_name, Unregister{"bo"});
  ASSERT_TRUE(bench.apply(broker_name, an_agent("bo", Dialect::collab)));
  ASSERT_EQ(bench.seen<DeadLettered>().size(), due_max);  // with each entry some more
  const std::string newest = "m" + std::to_string(many - 1);
  const auto read = bench.apply("bo", Read{target(newest)});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, base::Code::not_found);
  ASSERT_EQ(bench.seen<DeadLettered>().size(), due_max);
  ASSERT_GT(bench.tables().agents[bench.tables().agents.find("bo")].inbox.unsettled, 0u);
  EXPECT_EQ(bench.tables().load_of(bench.tables().agents.find("bo")), 0u);
  ASSERT_TRUE(bench.apply("ana", a_send("ana", "new").to("bo")));
  const auto taken = bench.apply("bo", Take{10});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->count, 1u);
  tick(bench);
  EXPECT_EQ(bench.tables().dead_letters.size(), many);
  EXPECT_EQ(bench.tables().agents[bench.tables().agents.find("bo")].inbox.unsettled, 1u);
}

TEST(Removal, OfTheNextWithTheNameTakesTheRestAlong) {
  Bench bench = with_many(many);
  bench.apply(broker_name, Unregister{"bo"});
  bench.apply(broker_name, an_agent("bo"));
  bench.apply("ana", a_send("ana", "new").to("bo"));
  ASSERT_TRUE(bench.apply(broker_name, Unregister{"bo"}));
  tick(bench);
  EXPECT_EQ(bench.tables().dead_letters.size(), many + 1);
  EXPECT_EQ(bench.tables().agents[bench.tables().agents.find("bo")].inbox.unsettled, 0u);
}

// Anything may come in between: other names for it, pauses of sessions, other rules, restarts.
TEST(Removal, TablesAgreeAndRepeatUnderRandomWorkMeanwhile) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCommands commands(seed);
    Random random(seed);
    Bench one = with_many(many, 1);
    Bench two = with_many(many, 0xfeedface);
    const auto apply = [&](std::string_view actor, const Command& command) {
      const Outcome outcome = one.apply(actor, command);
      two.now = one.now;
      ASSERT_EQ(two.apply(actor, command), outcome);
      ASSERT_EQ(one.machine.digest(), two.machine.digest());
      ASSERT_EQ(one.machine.next_deadline(), two.machine.next_deadline());
      ASSERT_EQ(testing::fault_in(one.tables()), "");
    };
    for (int step = 0; step < 40; ++step) {
      if (step % 10 == 5) {
        apply(broker_name, Unregister{"bo"});
        apply(broker_name, an_agent("bo", static_cast<Dialect>(random.below(5))));
      }
      if (step == 8) {
        two.machine = Machine::restore(one.machine.snapshot(), 9).value();
      }
      const auto asked = commands.next(one.machine);
      one.now = one.now + commands.pause();
      apply(asked.actor, asked.command);
    }
  }
}

TEST(Subscribe, LateSubscriberIsToldOfItsMailOnce) {
  Bench bench;
  apply_no_limits(bench);
  bench.apply(broker_name, an_agent("ana"));
  bench.apply(broker_name, an_agent("bo"));
  bench.apply("ana", a_send("ana", "m1").to("topic:a.b"));
  bench.apply("ana", a_send("ana", "m2").to("topic:a.b"));
  const auto done = bench.apply("bo", Subscribe{"a.b"});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->count, 2u);
  EXPECT_EQ(bench.seen<Mail>().size(), 1u);
}

}  // namespace
}  // namespace parley::core
