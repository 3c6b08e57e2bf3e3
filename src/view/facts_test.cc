// SPDX-License-Identifier: Apache-2.0
#include "view/facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "view/world_test.h"

namespace parley::view {
namespace {

using testing::a_send;
using testing::an_agent;
using testing::target;
using testing::World;

struct Collecting {
  World world;
  Facts facts;

  Collecting() {
    for (const char* name : {"ana", "bo", "cy"}) {
      world.ask("", an_agent(name));
    }
    world.listener = [this](const auto&... told) { facts.add(told...); };
  }
};

TEST(Facts, AreUnpackedAsTheyWereAdded) {
  Collecting c;
  c.world.clock.advance(base::seconds(5));
  ASSERT_TRUE(c.world.ask("ana", a_send("ana", "m1").to("bo").to("cy")));
  const Seq m1 = c.world.last();
  ASSERT_TRUE(c.world.ask("cy", core::Take{}));
  ASSERT_TRUE(c.world.ask("cy", core::Nack{.target = target("m1"), .reason = "not now"}));
  ASSERT_TRUE(c.world.ask("bo", core::Take{}));
  ASSERT_TRUE(c.world.ask("bo", core::Ack{target("m1"), {}}));
  ASSERT_TRUE(c.world.ask("ana", a_send("ana", "m2").to("nobody")));
  const std::vector<Fact> all = c.facts.all();
  ASSERT_EQ(all.size(), c.facts.size());
  ASSERT_EQ(all.size(), 10u);
  const auto expect = [&](size_t at, Fact::Kind kind, uint64_t entries_on, std::string_view name) {
    EXPECT_EQ(all[at].kind, kind) << at;
    EXPECT_EQ(all[at].entry, Seq{m1.n + entries_on}) << at;
    EXPECT_EQ(c.facts.text(all[at].name), name) << at;
    EXPECT_EQ(all[at].workspace, core::workspace_first) << at;
    EXPECT_EQ(all[at].message, at < 7 ? m1 : c.world.last()) << at;
  };
  expect(0, Fact::Kind::sent, 0, "");
  EXPECT_EQ(all[0].time, c.world.clock.now());
  EXPECT_EQ(c.facts.text(all[1].error), "");
  expect(3, Fact::Kind::delivery, 1, "cy");
  EXPECT_EQ(all[3].state(), core::State::offered);
  EXPECT_EQ(all[3].attempts, 1u);
  expect(4, Fact::Kind::delivery, 2, "cy");
  EXPECT_EQ(c.facts.text(all[4].error), "not now");
  expect(5, Fact::Kind::delivery, 3, "bo");
  expect(6, Fact::Kind::delivery, 4, "bo");
  EXPECT_EQ(all[6].state(), core::State::acked);
  EXPECT_FALSE(all[6].is_finished());
  expect(7, Fact::Kind::sent, 5, "");
  EXPECT_TRUE(all[7].is_finished());
  expect(9, Fact::Kind::dead_letter, 5, "nobody");
  EXPECT_EQ(all[9].letter, 1u);
}

// Hundreds of thousands wait in memory when small messages come faster than the history follows.
TEST(Facts, TakeFewBytes) {
  Collecting c;
  constexpr size_t count = 1'000;
  for (size_t n = 0; n < count; ++n) {
    const std::string id = "m" + std::to_string(n);
    const char* const receiver = n % 2 == 0 ? "bo" : "cy";
    c.world.clock.advance(base::seconds(2));  // no rate holds it up
    ASSERT_TRUE(c.world.ask("ana", a_send("ana", id).to(receiver)));
    ASSERT_TRUE(c.world.ask(receiver, core::Take{}));
    ASSERT_TRUE(c.world.ask(receiver, core::Ack{target(id), {}}));
  }
  EXPECT_EQ(c.facts.size(), 4 * count);
  EXPECT_LT(c.facts.bytes() / c.facts.size(), 12u);
}

}  // namespace
}  // namespace parley::view
