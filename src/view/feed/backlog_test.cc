// SPDX-License-Identifier: Apache-2.0
#include "view/feed/backlog.h"

#include <gtest/gtest.h>

#include <string>

#include "view/world_test.h"

namespace parley::view {
namespace {

using testing::a_send;
using testing::an_agent;
using testing::World;

// Two agents, and what is sent from here on goes into the backlog.
struct Sending {
  World world;
  Backlog backlog;

  explicit Sending(const Backlog::Options& options) : backlog(options) {
    world.ask("", an_agent("ana"));
    world.ask("", an_agent("bo"));
    world.listener = [this](const auto&... told) { backlog.add(told...); };
  }

  void send(size_t count, const std::string& who = "ana") {
    for (size_t n = 0; n < count; ++n) {
      world.ask(who, a_send(who, "m" + std::to_string(world.last().n)).to("bo").body("text"));
    }
  }
  bool is_full_for(const std::string& who) const {
    return backlog.is_full_for(core::workspace_first, who);
  }
};

TEST(Backlog, PartsAreTakenInOrderAndCountUntilTheyAreCommitted) {
  Sending sending({.part_facts = 4});
  Backlog& backlog = sending.backlog;
  sending.send(5);
  EXPECT_EQ(backlog.entries(), 5u);
  const uint64_t all = backlog.record_bytes();
  EXPECT_GT(all, 0u);
  Backlog::Part part;
  // A message and its delivery are two facts, so two messages fill a part.
  for (const uint64_t upto : {4, 6, 7}) {
    backlog.take(part);
    EXPECT_EQ(part.upto, Seq{upto});
    EXPECT_EQ(part.facts.all().back().entry, Seq{upto});
    EXPECT_EQ(backlog.entries(), 7 - upto);
    const uint64_t before = backlog.record_bytes();
    const uint64_t own = part.record_bytes;
    backlog.committed(part);
    EXPECT_EQ(backlog.record_bytes(), before - own);
  }
  EXPECT_EQ(backlog.record_bytes(), 0u);
}

TEST(Backlog, APartIsCutAlsoByTheBytesOfItsMessages) {
  Sending sending({.part_bytes = 1});
  sending.send(2);
  Backlog::Part part;
  sending.backlog.take(part);
  EXPECT_EQ(part.entries, 1u);
}

TEST(Backlog, IsHalfFullAndFullByFactsOrByMessages) {
  Sending few({});
  few.send(1);
  EXPECT_FALSE(few.backlog.is_half_full());
  const size_t one = few.backlog.record_bytes();
  Sending sending({.record_bytes_max = 4 * one});
  sending.send(1);
  EXPECT_FALSE(sending.backlog.is_half_full());
  sending.send(1);
  EXPECT_TRUE(sending.backlog.is_half_full());
  EXPECT_FALSE(sending.backlog.is_full());
  sending.send(2);
  EXPECT_TRUE(sending.backlog.is_full());
  Sending facts({.bytes_max = 1});
  facts.send(1);
  EXPECT_TRUE(facts.backlog.is_full());
}

TEST(Backlog, IsFullFirstForWhoHoldsMost) {
  Sending few({});
  few.send(1);
  const size_t one = few.backlog.record_bytes();
  Sending sending({.record_bytes_max = 9 * one});
  sending.send(4);
  EXPECT_FALSE(sending.is_full_for("ana"));
  sending.send(1);  // five of hers, and room for four
  EXPECT_TRUE(sending.is_full_for("ana"));
  EXPECT_FALSE(sending.is_full_for("bo"));
  EXPECT_FALSE(sending.backlog.is_full_for(core::WorkspaceId{7}, "ana"));
  sending.send(2, "bo");
  EXPECT_FALSE(sending.is_full_for("bo"));
  sending.send(1, "bo");  // three, and room for one
  EXPECT_TRUE(sending.is_full_for("bo"));
  EXPECT_FALSE(sending.is_full_for("cy"));
  Backlog::Part part;
  sending.backlog.take(part);
  EXPECT_TRUE(sending.is_full_for("ana"));
  sending.backlog.committed(part);
  EXPECT_FALSE(sending.is_full_for("ana"));
  EXPECT_FALSE(sending.is_full_for("bo"));
  sending.send(9);
  EXPECT_TRUE(sending.is_full_for("cy"));
}

TEST(Backlog, WhatIsDroppedIsNotTakenButStillNotFoldedIn) {
  Sending sending({});
  sending.send(3);
  const uint64_t bytes = sending.backlog.record_bytes();
  sending.backlog.drop();
  EXPECT_EQ(sending.backlog.entries(), 0u);
  EXPECT_EQ(sending.backlog.record_bytes(), bytes);
}

}  // namespace
}  // namespace parley::view
