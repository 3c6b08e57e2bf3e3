// SPDX-License-Identifier: Apache-2.0
// What a node does for a view: tells replayed entries, and stores no snapshot that the view has
// not reached.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/machine/testing.h"
#include "journal/memory.h"
#include "node/node.h"

namespace parley::node {
namespace {

using core::testing::a_send;
using core::testing::an_agent;

struct Told final : Outlet {
  std::vector<Seq> seqs;
  size_t tickets = 0;
  size_t effects = 0;

  void applied(const core::Entry& entry, const core::Outcome&, std::span<const core::Effect> found,
               std::optional<Ticket> ticket) override {
    seqs.push_back(entry.seq);
    effects += found.size();
    tickets += ticket ? 1 : 0;
  }
  void refused(Ticket, const Error&) override { ADD_FAILURE(); }
};

struct Bench {
  base::ManualClock clock{core::testing::start_time};
  journal::MemoryLog log{clock};
  journal::MemoryJournal journal{log};
  uint64_t lives = 0;

  std::unique_ptr<Node> start(Outlet& outlet, Node::Options options = {}) {
    options.origin = ++lives;
    auto node = Node::start(journal, outlet, std::move(options));
    EXPECT_TRUE(node) << node.error().detail;
    return std::move(*node);
  }
  void send(Node& node, size_t count) {
    const std::vector<std::string> names = make_names(count);
    for (const std::string& name : names) {
      EXPECT_TRUE(node.submit(core::workspace_first, "ana", a_send("ana", name).to("bo")));
    }
    EXPECT_TRUE(node.step(clock.now()));
  }
  void add_agents(Node& node) {
    EXPECT_TRUE(node.submit(core::workspace_first, "", an_agent("ana")));
    EXPECT_TRUE(node.submit(core::workspace_first, "", an_agent("bo")));
    step(node);
  }
  void step(Node& node) {
    while (node.has_work(clock.now())) {
      EXPECT_TRUE(node.step(clock.now()));
    }
  }

 private:
  std::vector<std::string> make_names(size_t count) {
    std::vector<std::string> names;
    for (size_t n = 0; n < count; ++n) {
      names.push_back("m" + std::to_string(++names_));
    }
    return names;
  }
  uint64_t names_ = 0;
};

TEST(NodeView, NothingReplayedIsToldByDefault) {
  Bench bench;
  Told first;
  {
    const auto node = bench.start(first);
    bench.add_agents(*node);
    bench.send(*node, 5);
  }
  const Seq last = bench.journal.last();
  Told second;
  const auto node = bench.start(second);
  EXPECT_EQ(node->machine().seq(), last);
  bench.step(*node);
  ASSERT_FALSE(second.seqs.empty());
  EXPECT_EQ(second.seqs.front(), last.next());
}

TEST(NodeView, ReplayedEntriesAfterAPlaceAreToldOnceInOrderWithoutATicket) {
  Bench bench;
  Told first;
  {
    const auto node = bench.start(first);
    bench.add_agents(*node);
    bench.send(*node, 5);
  }
  const Seq last = bench.journal.last();
  const Seq view{last.n - 3};
  Told second;
  const auto node = bench.start(second, {.tell_after = view});
  EXPECT_EQ(node->machine().seq(), view);
  EXPECT_TRUE(node->has_work(bench.clock.now()));
  ASSERT_TRUE(node->step(bench.clock.now()));
  ASSERT_GE(second.seqs.size(), 3u);
  for (size_t n = 0; n < second.seqs.size(); ++n) {
    EXPECT_EQ(second.seqs[n], (Seq{view.n + 1 + n}));
  }
  EXPECT_GE(second.effects, 3u);  // there is mail for bo, as it was told at first
  EXPECT_LE(second.tickets, 1u);  // of the new node's own start
}

TEST(NodeView, TellsTheWholeTailOfASnapshotWhenTheViewIsOlder) {
  Bench bench;
  Told first;
  Seq snapshot;
  {
    const auto node = bench.start(first, {.snapshot_bytes_min = 1});
    bench.add_agents(*node);
    snapshot = bench.journal.snapshot_seq();
    ASSERT_GT(snapshot, Seq{});
  }
  {
    Told quiet;
    const auto node = bench.start(quiet);
    bench.send(*node, 5);
  }
  Told second;
  const auto node = bench.start(second, {.tell_after = Seq{}});
  bench.step(*node);
  ASSERT_FALSE(second.seqs.empty());
  EXPECT_EQ(second.seqs.front(), bench.journal.snapshot_seq().next());
}

TEST(NodeView, SnapshotWaitsForTheView) {
  Bench bench;
  Told told;
  Seq view;
  const auto node =
      bench.start(told, {.snapshot_bytes_min = 100, .view_position = [&view] { return view; }});
  bench.add_agents(*node);
  bench.send(*node, 3);
  const Seq taken = node->machine().seq();
  bench.send(*node, 50);
  EXPECT_EQ(bench.journal.snapshot_seq(), Seq{});
  view = Seq{1};
  bench.send(*node, 1);
  EXPECT_EQ(bench.journal.snapshot_seq(), Seq{});
  view = taken;
  bench.send(*node, 1);
  const Seq stored = bench.journal.snapshot_seq();
  EXPECT_GT(stored, Seq{});
  EXPECT_LE(stored, view);
  // The one that is due by now waits for its own place.
  bench.send(*node, 1);
  EXPECT_EQ(bench.journal.snapshot_seq(), stored);
  // What is stored is a whole state: another life begins with it.
  Told again;
  const auto next = bench.start(again);
  EXPECT_EQ(next->machine().digest(), node->machine().digest());
}

TEST(NodeView, TakesNoMessagesOfWhomTheViewIsFullForButLetsThemBeSettled) {
  Bench bench;
  Told told;
  bool full = false;
  const auto node =
      bench.start(told, {.view_full = [&full](core::WorkspaceId, std::string_view actor) {
                    return full && actor == "ana";
                  }});
  bench.add_agents(*node);
  bench.send(*node, 1);
  full = true;
  const auto refused = node->submit(core::workspace_first, "ana", core::Send{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::overloaded);
  EXPECT_TRUE(node->submit(core::workspace_first, "bo", core::Send{}));
  EXPECT_TRUE(node->submit(core::workspace_first, "bo", core::Take{}));
  full = false;
  EXPECT_TRUE(node->submit(core::workspace_first, "ana", core::Send{}));
}

}  // namespace
}  // namespace parley::node
