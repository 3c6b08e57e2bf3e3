// SPDX-License-Identifier: Apache-2.0
#include "node/askers.h"

#include <gtest/gtest.h>

#include <vector>

namespace parley::node {
namespace {

using Changes = Askers::Changes;

// Askers that write down which of them were told.
struct Bench {
  Askers askers;
  std::vector<Ticket> told;

  void add(Ticket ticket, std::string_view actor = "ana", Changes changes = Changes::something,
           uint64_t bytes = 0) {
    askers.add(ticket, who(actor), changes, bytes,
               [this, ticket](const core::Outcome&, std::span<const core::Effect>) {
                 told.push_back(ticket);
               });
  }
  bool tell(Ticket ticket) {
    Askers::Done done = askers.take(ticket);
    if (done) {
      done(core::Receipt{}, {});
    }
    return static_cast<bool>(done);
  }
  bool is_untold(std::string_view actor) const { return askers.untold(who(actor)).is_some; }
  static Askers::Actor who(std::string_view actor) {
    return Askers::actor_of(core::workspace_first, actor);
  }
};

TEST(Askers, EachHearsOfItsOwnTicketOnce) {
  Bench bench;
  for (const Ticket ticket : {2, 3, 4}) {
    bench.add(ticket);
  }
  EXPECT_TRUE(bench.tell(2));
  EXPECT_TRUE(bench.tell(3));
  EXPECT_FALSE(bench.tell(3));
  EXPECT_TRUE(bench.tell(4));
  EXPECT_EQ(bench.told, (std::vector<Ticket>{2, 3, 4}));
}

TEST(Askers, NobodyAskedForTheNodesOwnCommands) {
  Bench bench;
  bench.add(2);
  bench.add(5);  // 3 and 4 were ticks
  bench.tell(2);
  EXPECT_FALSE(bench.tell(3));
  EXPECT_FALSE(bench.tell(4));
  bench.tell(5);
  EXPECT_FALSE(bench.tell(6));  // another one, behind all who asked
  bench.add(8);
  EXPECT_FALSE(bench.tell(7));
  EXPECT_TRUE(bench.tell(8));
  EXPECT_EQ(bench.told, (std::vector<Ticket>{2, 5, 8}));
}

TEST(Askers, AnActorIsUntoldUntilItsNewestCommandIsTold) {
  Bench bench;
  EXPECT_FALSE(bench.is_untold("ana"));
  bench.add(2);
  bench.add(3, "bo");
  bench.add(4);
  bench.tell(2);
  EXPECT_TRUE(bench.is_untold("ana"));
  EXPECT_TRUE(bench.is_untold("bo"));
  bench.tell(3);
  EXPECT_FALSE(bench.is_untold("bo"));
  EXPECT_TRUE(bench.is_untold("ana"));
  bench.tell(4);
  EXPECT_FALSE(bench.is_untold("ana"));
  EXPECT_NE(Bench::who("ana"), Askers::actor_of(core::WorkspaceId{2}, "ana"));
}

TEST(Askers, WhatAnActorHasStoredCountsUntilItIsTold) {
  Bench bench;
  bench.add(2, "ana", Changes::something, 100);
  bench.add(3, "bo", Changes::something, 7);
  bench.add(4, "ana", Changes::something, 10);
  EXPECT_EQ(bench.askers.untold(Bench::who("ana")).bytes, 110u);
  EXPECT_EQ(bench.askers.untold(Bench::who("bo")).bytes, 7u);
  bench.tell(2);
  EXPECT_EQ(bench.askers.untold(Bench::who("ana")).bytes, 10u);
  bench.tell(4);
  EXPECT_EQ(bench.askers.untold(Bench::who("ana")).bytes, 0u);
  EXPECT_EQ(bench.askers.untold(Bench::who("bo")).bytes, 0u);
}

TEST(Askers, WhatChangesNothingNeedNotBeToldFirst) {
  Bench bench;
  bench.add(2, "ana", Changes::nothing);
  EXPECT_FALSE(bench.is_untold("ana"));
  EXPECT_TRUE(bench.tell(2));
}

}  // namespace
}  // namespace parley::node
