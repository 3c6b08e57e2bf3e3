// SPDX-License-Identifier: Apache-2.0
// A node on a disk that is nearly full.
#include "node/node_test.h"

namespace parley::node {
namespace {

struct Shelf : Bench {
  uint64_t room = 1'000;
  size_t warned = 0;

  Shelf() {
    options.room = [this] { return room; };
    options.room_min = 800;
    options.warn = [this](const Error&) { ++warned; };
    restart();
    register_both();
  }
  // As long as it takes until the room is looked at again.
  void look() {
    clock.advance(base::seconds(5));
    EXPECT_TRUE(step());
  }
  Code refusal(std::string_view actor, Command command) {
    const auto ticket = node->submit(workspace_first, actor, std::move(command));
    return ticket ? Code::bad_request : ticket.error().code;
  }
};

TEST(Room, NothingNewIsTakenWhileThereIsLittle) {
  Shelf shelf;
  ASSERT_TRUE(shelf.ask("ana", a_send("ana", "m1").to("bo")));
  shelf.room = 799;
  shelf.look();
  ASSERT_TRUE(shelf.node->warnings().room);
  EXPECT_EQ(shelf.warned, 1u);
  EXPECT_EQ(shelf.refusal("ana", a_send("ana", "m2").to("bo")), Code::storage_full);
  EXPECT_EQ(shelf.refusal("ana", core::StartSession{.id = "s"}), Code::storage_full);
  EXPECT_EQ(shelf.refusal(broker_name, an_agent("cy")), Code::bad_request) << "its own passes";
  EXPECT_FALSE(shelf.node->trouble());
}

TEST(Room, WhatEndsSomethingPasses) {
  Shelf shelf;
  ASSERT_TRUE(shelf.ask("ana", a_send("ana", "m1").to("bo")));
  shelf.room = 0;
  shelf.look();
  EXPECT_TRUE(shelf.ask("bo", core::Take{1}));
  EXPECT_TRUE(shelf.ask("bo", core::Ack{.target = target("m1")}));
}

// By itself: what is refused meanwhile brings about no step.
TEST(Room, ThatComesBackIsNoticed) {
  Shelf shelf;
  shelf.room = 0;
  shelf.look();
  EXPECT_LE(shelf.node->next_deadline(), shelf.clock.now() + base::seconds(5));
  shelf.room = 850;
  shelf.look();
  EXPECT_TRUE(shelf.node->warnings().room) << "it must be a little more than the limit";
  shelf.room = 900;
  shelf.look();
  EXPECT_FALSE(shelf.node->warnings().room);
  EXPECT_TRUE(shelf.ask("ana", a_send("ana", "m1").to("bo")));
}

// Also without many new records, for what was settled since can go; but not for nothing.
TEST(Room, ASnapshotIsStoredWhenThereIsLittle) {
  Shelf shelf;
  EXPECT_EQ(shelf.journal.snapshot_seq(), Seq{});
  shelf.room = 0;
  shelf.look();
  shelf.look();
  const Seq stored = shelf.journal.snapshot_seq();
  EXPECT_EQ(stored, shelf.node->machine().seq());
  const size_t appends = shelf.journal.appends.size();
  shelf.look();
  EXPECT_EQ(shelf.journal.snapshot_seq(), stored);
  EXPECT_EQ(shelf.journal.appends.size(), appends) << "looking writes nothing";
}

}  // namespace
}  // namespace parley::node
