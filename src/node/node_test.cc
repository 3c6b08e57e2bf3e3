// SPDX-License-Identifier: Apache-2.0
#include "node/node_test.h"

namespace parley::node {
namespace {

Error storage_full() { return {Code::storage_full, "no space", {}}; }

TEST(Node, CommandsOfOneTurnAreOneAppend) {
  Bench bench;
  bench.register_both();
  bench.journal.appends.clear();
  std::vector<Ticket> tickets;
  for (const std::string_view name : {"m1", "m2", "m3"}) {
    tickets.push_back(bench.submit("ana", a_send("ana", name).to("bo")));
  }
  bench.notes.order.clear();
  ASSERT_TRUE(bench.step());
  ASSERT_EQ(bench.journal.appends.size(), 1u);
  EXPECT_EQ(bench.journal.appends[0].count, 3u);
  EXPECT_EQ(bench.notes.order, tickets);
  EXPECT_FALSE(bench.node->has_work(bench.clock.now()));
  ASSERT_TRUE(bench.step());
  EXPECT_EQ(bench.journal.appends.size(), 1u) << "nothing to append";
}

TEST(Node, RefusalsOfTheMachineAreOutcomesToo) {
  Bench bench;
  bench.register_both();
  EXPECT_EQ(bench.ask("stranger", core::Take{1}).error().code, Code::forbidden);
  EXPECT_TRUE(bench.notes.refusals.empty());
}

TEST(Node, NothingIsToldBeforeItIsInTheJournal) {
  Bench bench;
  bench.register_both();
  bench.journal.hold = true;
  const Ticket first = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  // The next batch collects while the first is on its way.
  const Ticket second = bench.submit("ana", a_send("ana", "m2").to("bo"));
  ASSERT_TRUE(bench.step());
  EXPECT_FALSE(bench.notes.outcomes.contains(first));
  EXPECT_EQ(bench.tables().messages.size(), 0u);
  bench.journal.let_go();
  bench.settle();
  EXPECT_TRUE(bench.notes.outcomes.contains(first));
  EXPECT_TRUE(bench.notes.outcomes.contains(second));
  EXPECT_EQ(bench.tables().messages.size(), 2u);
}

// Else the loop would spin; the journal wakes it.
TEST(Node, WhatWaitsForTheJournalIsNoWork) {
  Bench bench;
  bench.register_both();
  bench.ask("ana", a_send("ana", "m0").to("bo").ttl(base::seconds(5)));
  bench.journal.hold = true;
  bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  bench.submit("ana", a_send("ana", "m2").to("bo"));
  bench.clock.advance(base::seconds(6));
  EXPECT_FALSE(bench.node->has_work(bench.clock.now()));
  EXPECT_EQ(bench.node->next_deadline(), base::time_max);
  ASSERT_TRUE(bench.step());
  EXPECT_EQ(bench.journal.waits, 0u);
  bench.journal.let_go();
  EXPECT_TRUE(bench.node->has_work(bench.clock.now()));
  bench.settle();
  EXPECT_EQ(bench.tables().dead_letters.size(), 1u);
}

TEST(Node, MailboxThatFillsBehindAPendingBatchWaitsForItInsteadOfRefusing) {
  Bench bench;
  bench.options.mailbox.commands_max = 8;
  bench.restart();
  bench.register_both();
  bench.journal.hold = true;
  std::vector<Ticket> tickets;
  for (int turn = 0; turn < 12; ++turn) {
    for (int n = 0; n < 3; ++n) {
      const std::string name = std::to_string(turn) + "." + std::to_string(n);
      tickets.push_back(bench.submit("ana", a_send("ana", name).to("bo")));
    }
    ASSERT_TRUE(bench.step());
    bench.journal.hold = true;
  }
  EXPECT_GT(bench.journal.waits, 0u);
  bench.journal.let_go();
  bench.settle();
  for (const Ticket ticket : tickets) {
    EXPECT_TRUE(bench.notes.outcomes.contains(ticket));
  }
}

TEST(Node, NextBatchIsOnItsWayBeforeTheOneBeforeItIsApplied) {
  Bench bench;
  bench.register_both();
  bench.journal.hold = true;
  const Ticket first = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  const Ticket second = bench.submit("ana", a_send("ana", "m2").to("bo"));
  bench.journal.let_go();
  bench.journal.hold = true;
  ASSERT_TRUE(bench.step());
  EXPECT_EQ(bench.journal.appending(), Appending::pending);
  EXPECT_TRUE(bench.notes.outcomes.contains(first));
  EXPECT_FALSE(bench.notes.outcomes.contains(second));
  bench.journal.let_go();
  bench.settle();
  EXPECT_TRUE(bench.notes.outcomes.contains(second));
}

// The one before it is in the journal, and its askers hear so first.
TEST(Node, RefusalOfTheNextBatchLeavesTheOneBeforeIt) {
  Bench bench;
  bench.register_both();
  bench.journal.hold = true;
  const Ticket first = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  const Ticket second = bench.submit("ana", a_send("ana", "m2").to("bo"));
  bench.journal.let_go();
  bench.journal.append_error = storage_full();
  ASSERT_TRUE(bench.step());
  EXPECT_TRUE(bench.notes.outcomes.at(first).has_value());
  EXPECT_EQ(bench.notes.refusals.at(second).code, Code::storage_full);
  bench.journal.append_error.reset();
  EXPECT_TRUE(bench.ask("ana", a_send("ana", "m3").to("bo")).has_value());
}

TEST(Node, BatchThatFailsWhileItIsPendingIsRefused) {
  Bench bench;
  bench.register_both();
  bench.journal.hold = true;
  const Ticket first = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  const Ticket second = bench.submit("ana", a_send("ana", "m2").to("bo"));
  ASSERT_TRUE(bench.step());
  bench.journal.fail_held();
  EXPECT_TRUE(bench.node->has_work(bench.clock.now()));
  bench.settle();
  for (const Ticket ticket : {first, second}) {
    EXPECT_FALSE(bench.notes.outcomes.contains(ticket));
    EXPECT_EQ(bench.notes.refusals.at(ticket).code, Code::storage_failed);
  }
  EXPECT_EQ(bench.node->trouble()->code, Code::storage_failed);
  EXPECT_EQ(bench.tables().messages.size(), 0u);
}

// As a journal that is shared may do it. It acts, but who was told once is told no more.
TEST(Node, BatchThatWasRefusedAndArrivesAfterAllIsNotToldAgain) {
  Bench bench;
  bench.register_both();
  bench.journal.hold = true;
  const Ticket ticket = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  const std::vector<std::string> batch = bench.journal.fail_held();
  bench.settle();
  ASSERT_TRUE(bench.notes.refusals.contains(ticket));
  journal::MemoryJournal other(bench.log);
  const std::vector<std::string_view> views(batch.begin(), batch.end());
  ASSERT_TRUE(other.append(views, Sync::yes).has_value());
  bench.settle();
  EXPECT_EQ(bench.tables().messages.size(), 1u);
  EXPECT_FALSE(bench.notes.outcomes.contains(ticket));
}

TEST(Node, SyncsOnlyForWhatIsPromised) {
  Bench bench;
  bench.register_both();
  bench.journal.appends.clear();
  bench.ask("bo", core::Take{1});
  EXPECT_EQ(bench.journal.appends.back().sync, Sync::no);
  auto in_memory = a_send("ana", "m1").to("bo");
  in_memory.send.envelope.durability = core::Durability::memory;
  bench.ask("ana", in_memory);
  EXPECT_EQ(bench.journal.appends.back().sync, Sync::no);
  bench.submit("bo", core::Take{1});
  bench.ask("ana", a_send("ana", "m2").to("bo"));
  EXPECT_EQ(bench.journal.appends.back().sync, Sync::yes);
  EXPECT_EQ(bench.journal.appends.back().count, 2u);
  // Clients keep its number in their marks.
  bench.ask("bo", core::OpenStream{{bench.options.origin, 1}, 4});
  EXPECT_EQ(bench.journal.appends.back().sync, Sync::yes);
}

TEST(Node, FullMailboxRefusesAndGoesOnAfterTheNextTurn) {
  Bench bench;
  bench.options.mailbox.commands_max = 2;
  bench.restart();
  bench.register_both();
  bench.submit("ana", core::Take{1});
  bench.submit("ana", core::Take{1});
  const auto refused = bench.node->submit(workspace_first, "ana", core::Take{1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::overloaded);
  bench.settle();
  EXPECT_TRUE(bench.ask("ana", core::Take{1}).has_value());
}

TEST(Node, FullDiskRefusesAndGoesOnWhenThereIsRoom) {
  Bench bench;
  bench.register_both();
  bench.journal.append_error = storage_full();
  const Ticket ticket = bench.submit("ana", a_send("ana", "m1").to("bo"));
  EXPECT_TRUE(bench.step());
  ASSERT_TRUE(bench.notes.refusals.contains(ticket));
  EXPECT_EQ(bench.notes.refusals.at(ticket).code, Code::storage_full);
  ASSERT_TRUE(bench.node->trouble().has_value());
  EXPECT_EQ(bench.node->trouble()->code, Code::storage_full);
  EXPECT_EQ(bench.tables().messages.size(), 0u);

  bench.journal.append_error.reset();
  EXPECT_TRUE(bench.ask("ana", a_send("ana", "m1").to("bo")).has_value());
  EXPECT_FALSE(bench.node->trouble().has_value());
  EXPECT_EQ(bench.tables().messages.size(), 1u);
}

TEST(Node, FailedStorageIsNeverReportedAsSuccess) {
  Bench bench;
  bench.register_both();
  bench.journal.append_error = Error{Code::storage_failed, "fsync", {}};
  const Ticket one = bench.submit("ana", a_send("ana", "m1").to("bo"));
  EXPECT_TRUE(bench.step());
  const Ticket two = bench.submit("ana", a_send("ana", "m2").to("bo"));
  EXPECT_TRUE(bench.step());
  for (const Ticket ticket : {one, two}) {
    EXPECT_FALSE(bench.notes.outcomes.contains(ticket));
    EXPECT_EQ(bench.notes.refusals.at(ticket).code, Code::storage_failed);
  }
}

TEST(Node, UnreadableJournalStopsItAndRefusesAllThatWaits) {
  Bench bench;
  bench.register_both();
  bench.journal.hold = true;
  const Ticket in_flight = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  const Ticket waiting = bench.submit("ana", a_send("ana", "m2").to("bo"));
  bench.journal.let_go();
  bench.journal.read_error = Error{Code::journal_damaged, "bad block", {}};
  EXPECT_FALSE(bench.step());
  EXPECT_EQ(bench.notes.refusals.at(in_flight).code, Code::journal_damaged);
  EXPECT_EQ(bench.notes.refusals.at(waiting).code, Code::journal_damaged);
  EXPECT_FALSE(bench.step());
  EXPECT_FALSE(bench.node->has_work(bench.clock.now()));
  // Nobody waits for ever for what will never be done.
  const auto late = bench.node->submit(workspace_first, "ana", core::Take{1});
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, Code::journal_damaged);
}

TEST(Node, RecordOfAnotherVersionStopsIt) {
  Bench bench;
  bench.register_both();
  journal::MemoryJournal other(bench.log);
  const std::string_view nonsense = "\xff nonsense";
  ASSERT_TRUE(other.append(std::span(&nonsense, 1), Sync::yes).has_value());
  EXPECT_FALSE(bench.step());
  EXPECT_EQ(bench.node->trouble()->code, Code::malformed_record);
  EXPECT_FALSE(Node::start(bench.journal, bench.notes, bench.options).has_value());
}

TEST(Node, RestartReachesTheSameStateAndTellsNobody) {
  Bench bench;
  bench.register_both();
  bench.ask("ana", a_send("ana", "m1").to("bo"));
  bench.ask("bo", core::Take{1});
  const size_t told = bench.notes.entries;
  const std::unique_ptr<Node> former = std::move(bench.node);
  ++bench.options.origin;
  bench.start();
  EXPECT_EQ(bench.notes.entries, told);
  EXPECT_EQ(bench.node->machine().seq(), former->machine().seq());
  EXPECT_EQ(bench.node->machine().digest(), former->machine().digest());
  bench.notes.outcomes.clear();
  EXPECT_TRUE(bench.ask("bo", core::Ack{target("m1"), {}}).has_value());
}

TEST(Node, RestartClosesTheStreamsOfTheFormerLife) {
  Bench bench;
  bench.register_both();
  bench.ask("bo", core::OpenStream{{bench.options.origin, 1}, 4});
  bench.ask("ana", a_send("ana", "m1").to("bo"));
  EXPECT_EQ(bench.tables().streams.size(), 1u);
  bench.notes.outcomes.clear();
  bench.restart();
  bench.settle();
  EXPECT_EQ(bench.tables().streams.size(), 0u);
}

// Without it, the streams of the former life would go on being served.
TEST(Node, StartIsSaidEvenIfTheDiskWasFullAtFirst) {
  Bench bench;
  bench.register_both();
  bench.ask("bo", core::OpenStream{{bench.options.origin, 1}, 4});
  bench.notes.outcomes.clear();
  bench.journal.append_error = storage_full();
  bench.restart();
  const Ticket ticket = bench.submit("ana", core::Take{1});
  ASSERT_TRUE(bench.step());
  EXPECT_TRUE(bench.notes.refusals.contains(ticket));
  EXPECT_EQ(bench.tables().streams.size(), 1u);
  bench.journal.append_error.reset();
  bench.settle();
  EXPECT_EQ(bench.tables().streams.size(), 0u);
  EXPECT_TRUE(bench.ask("ana", core::Take{1}).has_value());
}

TEST(Node, LifeThatIsNotLaterTakesALaterOrigin) {
  Bench bench;
  bench.register_both();
  uint64_t before = bench.node->origin();
  for (const uint64_t origin : {before, before - 1}) {
    bench.options.origin = origin;
    Notes notes;
    const auto again = Node::start(bench.journal, notes, bench.options);
    ASSERT_TRUE(again.has_value());
    EXPECT_GT((*again)->origin(), before);
    ASSERT_TRUE((*again)->step(bench.clock.now()).has_value());
    before = (*again)->origin();
  }
}

TEST(Node, StopsWhenALaterLifeOfItsNameHasBegun) {
  Bench bench;
  bench.register_both();
  journal::MemoryJournal other_journal(bench.log);
  Notes other_notes;
  Node::Options options;
  options.origin = 11;
  const auto other = Node::start(other_journal, other_notes, options);
  ASSERT_TRUE(other.has_value());
  ASSERT_TRUE((*other)->step(bench.clock.now()).has_value());
  const Ticket ticket = bench.submit("ana", core::Take{1});
  EXPECT_FALSE(bench.step());
  EXPECT_EQ(bench.node->trouble()->code, Code::data_in_use);
  EXPECT_TRUE(bench.notes.refusals.contains(ticket));
}

TEST(Node, TwoNodesOnOneJournalReachTheSameState) {
  Bench bench;
  bench.register_both();
  journal::MemoryJournal other_journal(bench.log);
  Notes other_notes;
  Node::Options options;
  options.name = "other";
  options.origin = 500;
  options.hash_seed = 99;
  auto other = Node::start(other_journal, other_notes, options);
  ASSERT_TRUE(other.has_value());
  ASSERT_TRUE((*other)->submit(workspace_first, "ana", a_send("ana", "m1").to("bo")).has_value());
  ASSERT_TRUE((*other)->step(bench.clock.now()).has_value());
  ASSERT_TRUE((*other)->step(bench.clock.now()).has_value());
  bench.settle();
  EXPECT_EQ(bench.tables().messages.size(), 1u);
  EXPECT_EQ(bench.node->machine().digest(), (*other)->machine().digest());
}

TEST(Node, BatchWhoseAnswerIsLostActsOnce) {
  Bench bench;
  bench.register_both();
  bench.journal.lose_answer = true;
  const Ticket ticket = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  ASSERT_TRUE(bench.step());
  bench.journal.lose_answer = false;
  bench.settle();
  EXPECT_TRUE(bench.notes.outcomes.contains(ticket));
  EXPECT_EQ(bench.tables().messages.size(), 1u);
}

TEST(Node, BatchThatIsLostIsAppendedAgain) {
  Bench bench;
  bench.register_both();
  bench.journal.lose_batch = true;
  const Ticket ticket = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  ASSERT_TRUE(bench.step());
  EXPECT_FALSE(bench.notes.outcomes.contains(ticket));
  // A full disk does not settle its fate.
  bench.journal.append_error = storage_full();
  ASSERT_TRUE(bench.step());
  EXPECT_FALSE(bench.notes.refusals.contains(ticket));
  bench.journal.append_error.reset();
  bench.journal.lose_batch = false;
  bench.settle();
  EXPECT_TRUE(bench.notes.outcomes.contains(ticket));
}

TEST(Node, BatchThatArrivesTwiceIsToldOnce) {
  Bench bench;
  bench.register_both();
  bench.journal.hold = true;
  const Ticket ticket = bench.submit("ana", a_send("ana", "m1").to("bo"));
  ASSERT_TRUE(bench.step());
  journal::MemoryJournal other(bench.log);
  core::Entry entry;
  entry.id = {bench.options.origin, ticket};
  entry.actor = "ana";
  entry.command = a_send("ana", "m1").to("bo");
  std::string bytes;
  core::encode(entry, bytes);
  const std::string_view payload = bytes;
  ASSERT_TRUE(other.append(std::span(&payload, 1), Sync::yes).has_value());
  bench.journal.let_go();
  bench.settle();  // Notes fails when it is told twice
  EXPECT_EQ(bench.tables().messages.size(), 1u);
}

TEST(Node, TickComesWhenItIsDueAndNotBefore) {
  Bench bench;
  bench.register_both();
  bench.ask("ana", a_send("ana", "m1").to("bo").ttl(base::seconds(5)));
  EXPECT_EQ(bench.node->next_deadline(), bench.clock.now() + base::seconds(5));
  bench.journal.appends.clear();
  bench.clock.advance(base::seconds(4));
  EXPECT_FALSE(bench.node->has_work(bench.clock.now()));
  ASSERT_TRUE(bench.step());
  EXPECT_TRUE(bench.journal.appends.empty());
  bench.clock.advance(base::seconds(1));
  EXPECT_TRUE(bench.node->has_work(bench.clock.now()));
  bench.settle();
  EXPECT_EQ(bench.journal.appends.size(), 1u);
  EXPECT_EQ(bench.tables().dead_letters.size(), 1u);
}

// Else the loop would spin until there is room.
TEST(Node, FullDiskLetsTimeBeTriedOnceASecond) {
  Bench bench;
  bench.register_both();
  bench.ask("ana", a_send("ana", "m1").to("bo").ttl(base::seconds(5)));
  bench.clock.advance(base::seconds(5));
  bench.journal.append_error = storage_full();
  ASSERT_TRUE(bench.step());
  EXPECT_FALSE(bench.node->has_work(bench.clock.now()));
  EXPECT_EQ(bench.node->next_deadline(), bench.clock.now() + base::seconds(1));
  bench.journal.append_error.reset();
  bench.clock.advance(base::seconds(1));
  EXPECT_TRUE(bench.node->has_work(bench.clock.now()));
  bench.settle();
  EXPECT_EQ(bench.tables().dead_letters.size(), 1u);
}

TEST(Node, FreshRecordsAreNotFetched) {
  Bench bench;
  bench.register_both();
  const Seq seq = bench.ask("ana", a_send("ana", "m1").to("bo").body("hello"))->message;
  const auto recent = bench.node->records().read(seq);
  ASSERT_TRUE(recent.has_value());
  EXPECT_NE(recent->find("hello"), std::string_view::npos);
  EXPECT_EQ(bench.journal.fetches, 0u);
  // After a restart nothing is fresh.
  bench.notes.outcomes.clear();
  bench.restart();
  const auto fetched = bench.node->records().read(seq);
  ASSERT_TRUE(fetched.has_value());
  EXPECT_NE(fetched->find("hello"), std::string_view::npos);
  EXPECT_EQ(bench.journal.fetches, 1u);
  EXPECT_FALSE(bench.node->records().read(Seq{9'999}).has_value());
}

TEST(Node, SnapshotsFreeTheJournalButKeepLiveRecords) {
  Bench bench;
  bench.options.snapshot_bytes_min = 2'000;
  bench.options.records.recent_bytes_max = 0;
  bench.restart();
  bench.register_both();
  bench.ask(broker_name, core::SetRules{{{"settled_max", "0"},
                                         {"flow.rate.agent_out_per_min", "0"},
                                         {"flow.rate.agent_in_per_min", "0"},
                                         {"flow.rate.pair_per_min", "0"}}});
  const Seq live = bench.ask("ana", a_send("ana", "keep").to("ana").body("precious"))->message;
  for (int n = 0; n < 300; ++n) {
    const std::string name = std::to_string(n);
    bench.ask("ana", a_send("ana", name).to("bo").body("passing by"));
    bench.ask("bo", core::Take{1});
    bench.ask("bo", core::Ack{target(name), {}});
  }
  EXPECT_GT(bench.journal.snapshot_seq(), live);
  EXPECT_LT(bench.log.records_held(), 450u) << "of more than 900";
  EXPECT_NE(bench.node->records().read(live).value().find("precious"), std::string_view::npos);

  const uint64_t digest = bench.node->machine().digest();
  bench.notes.outcomes.clear();
  bench.restart();
  EXPECT_EQ(bench.node->machine().digest(), digest);
  EXPECT_NE(bench.node->records().read(live).value().find("precious"), std::string_view::npos);
  bench.settle();
  EXPECT_TRUE(bench.ask("ana", core::Take{1}).has_value());
  EXPECT_EQ(bench.notes.delivered.back(), live);
}

TEST(Node, DamagedSnapshotIsRefused) {
  Bench bench;
  bench.register_both();
  const Seq last = bench.journal.last();
  ASSERT_TRUE(bench.journal.save({last, "nonsense"}).has_value());
  ++bench.options.origin;
  const auto started = Node::start(bench.journal, bench.notes, bench.options);
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code, Code::malformed_record);
}

}  // namespace
}  // namespace parley::node
