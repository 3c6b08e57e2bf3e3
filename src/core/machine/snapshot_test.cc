// SPDX-License-Identifier: Apache-2.0
#include "core/machine/snapshot.h"

#include <gtest/gtest.h>

#include "core/machine/random_test.h"
#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::a_send;
using testing::an_agent;
using testing::Bench;
using testing::RandomCommands;
using testing::target;

// One of everything: streams, leases, delays, topics, dead letters, answers, two workspaces.
Bench rich_bench() {
  Bench bench;
  for (const std::string_view name : {"ana", "bo", "cy"}) {
    Register agent = an_agent(name, name == "bo" ? Dialect::inbox : Dialect::flow);
    agent.capabilities = {"plan", "review"};
    agent.token = testing::token_of(name);
    agent.webhook = "https://example.org/hook";
    agent.webhook_secret = testing::token_of("secret");
    bench.apply(broker_name, agent);
  }
  bench.apply(broker_name, StartNode{"node"});
  bench.apply(broker_name, AddWorkspace{"lab", testing::token_of("lab")});
  bench.set("queue_max", "50");
  bench.apply("cy", Subscribe{"a.b"});
  bench.apply("bo", OpenStream{{bench.origin, 1}, 2});
  bench.apply("ana", a_send("ana", "m1").to("bo").key("k"));
  bench.apply("ana", a_send("ana", "m2").to("bo"));
  bench.apply("ana", a_send("ana", "m3").to("bo").urgent(Priority::critical));
  bench.apply("ana", a_send("ana", "m4").to("a.b"));
  bench.apply("ana", a_send("ana", "m5").to("zed"));
  bench.apply("ana", a_send("ana", "m6").to("cy"));
  bench.apply("ana", a_send("ana", "m7").to("cy"));
  bench.apply("cy", Take{2});
  bench.apply("cy", Nack{target("m6"), base::seconds(30), "later"});
  bench.apply("bo", Ack{target("m1"), {}});
  bench.apply("bo", a_send("bo", "r1").to("ana").answers("m1"));
  bench.apply(broker_name, ResolveDeadLetter{1, Resolution::escalated});
  bench.apply("ana", a_send("ana", "m8").to("zed"));
  // Two sessions, one paused with something in it, one over; a lock that someone waits for.
  bench.apply("ana", StartSession{"s1", "", {"bo", "cy"}, "{}"});
  bench.apply("bo", ChangeSession{"s1", SessionAct::add_decision, 1, "", "{}"});
  bench.apply("ana", a_send("ana", "m9").to("cy").in_session("s1"));
  bench.apply("ana", ChangeSession{"s1", SessionAct::pause});
  bench.apply("ana", a_send("ana", "m10").to("bo").in_session("s1"));
  bench.apply("cy", StartSession{"s2", "", {}, "{}"});
  bench.apply("cy", ChangeSession{"s2", SessionAct::complete, 0, "done"});
  bench.apply("ana", TakeLock{"a"});
  bench.apply("ana", TakeLock{"b"});
  bench.apply("bo", TakeLock{"b", {}, base::seconds(5)});
  return bench;
}

// A bench after `steps` random commands.
Bench busy_bench(uint64_t seed, int steps) {
  Bench bench;
  RandomCommands commands(seed);
  for (const std::string_view name : {"ana", "bo", "cy"}) {
    bench.apply(broker_name, an_agent(name));
  }
  for (int step = 0; step < steps; ++step) {
    const auto asked = commands.next(bench.machine);
    bench.now = bench.now + commands.pause();
    bench.apply(asked.actor, asked.command, asked.workspace);
  }
  return bench;
}

TEST(Snapshot, RichStateComesBackAsItWas) {
  const Bench bench = rich_bench();
  const std::string bytes = bench.machine.snapshot();
  const auto restored = Machine::restore(bytes, 77);
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->snapshot(), bytes);
  EXPECT_EQ(restored->digest(), bench.machine.digest());
  EXPECT_EQ(restored->seq(), bench.machine.seq());
  EXPECT_EQ(restored->time(), bench.machine.time());
  EXPECT_EQ(restored->next_deadline(), bench.machine.next_deadline());
  EXPECT_EQ(restored->live(), bench.machine.live());
}

TEST(Snapshot, NewMachineComesBack) {
  const Machine machine;
  const auto restored = Machine::restore(machine.snapshot());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->digest(), machine.digest());
}

// They get the places of others that were removed, in the other order.
TEST(Snapshot, FormDoesNotDependOnTheHistory) {
  const auto digest_after = [](std::string_view first, std::string_view second) {
    Bench bench;
    bench.apply(broker_name, an_agent("xu"));
    bench.apply(broker_name, an_agent("yo"));
    for (const std::string_view name : {first, second}) {
      Unregister removal;
      removal.name = name;
      bench.apply(broker_name, removal);
    }
    bench.apply(broker_name, an_agent("ana"));
    bench.apply(broker_name, an_agent("bo"));
    return bench.machine.digest();
  };
  EXPECT_EQ(digest_after("xu", "yo"), digest_after("yo", "xu"));
}

TEST(Snapshot, EveryTruncationIsRefused) {
  const std::string bytes = rich_bench().machine.snapshot();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto restored = Machine::restore(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(restored.has_value()) << size << " of " << bytes.size();
    EXPECT_EQ(restored.error().code, base::Code::malformed_record);
  }
  EXPECT_FALSE(Machine::restore(bytes + '\0').has_value());
}

// The journal's checksum keeps such snapshots away; one that slips through must still not stop the
// node in a way that only shows much later.
void expect_usable(Machine damaged, uint64_t seed) {
  Bench bench;
  bench.machine = std::move(damaged);
  bench.now = std::max(bench.machine.time(), testing::start_time);
  bench.origin = 0x1234567;
  RandomCommands commands(seed);
  for (int step = 0; step < 60; ++step) {
    const auto asked = commands.next(bench.machine);
    bench.apply(asked.actor, asked.command, asked.workspace);
  }
  for (uint64_t letter = 0; letter < 6; ++letter) {
    bench.apply(broker_name, ResolveDeadLetter{letter, Resolution::retried});
  }
  for (const std::string_view name : {"ana", "bo", "cy"}) {
    bench.apply(name, Take{4});
    bench.apply(broker_name, Unregister{name});
  }
  bench.now = bench.now + base::hours(100);
  bench.apply(broker_name, Tick{});
  bench.apply(broker_name, Tick{});
  EXPECT_TRUE(Machine::restore(bench.machine.snapshot()).has_value());
}

TEST(Snapshot, FlippedBytesAreRefusedOrGiveAStateThatWorks) {
  const std::string bytes = rich_bench().machine.snapshot();
  size_t accepted = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {0x01, 0x02, 0x80}) {
      SCOPED_TRACE("byte " + std::to_string(at) + " of " + std::to_string(bytes.size()) +
                   ", flip " + std::to_string(flip));
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ flip);
      auto restored = Machine::restore(flipped);
      if (restored) {
        ++accepted;
        expect_usable(std::move(*restored), at);
      }
    }
  }
  EXPECT_GT(accepted, 0u);
}

TEST(Snapshot, RandomStatesComeBack) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Bench bench = busy_bench(seed, 800);
    const std::string bytes = bench.machine.snapshot();
    const auto restored = Machine::restore(bytes, seed);
    ASSERT_TRUE(restored.has_value());
    EXPECT_EQ(restored->snapshot(), bytes);
    EXPECT_EQ(restored->next_deadline(), bench.machine.next_deadline());
  }
}

}  // namespace
}  // namespace parley::core
