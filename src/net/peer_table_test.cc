// SPDX-License-Identifier: Apache-2.0
#include "net/peer_table.h"

#include <gtest/gtest.h>

#include <string>

namespace parley::net {
namespace {

using Ids = std::vector<ConnectionId>;

class Listener final : public Handler {
 public:
  CallerId on_head(const Request& head) override { return head.header("x-caller") == "2" ? 2 : 1; }
  void on_request(const Exchange&, const Request&) override {}
  void on_message(ConnectionId, std::string_view) override {}
  void on_closed(ConnectionId) override {}
  void on_drained(ConnectionId) override {}
  Time on_turn() override { return base::time_max; }
};

struct Bench {
  Listener listener;
  Surroundings around;
  PeerTable table;

  Bench() { around.handler = &listener; }
  PeerTable::Peer& come() {
    return table.add(std::make_unique<PeerTable::Peer>(table.next_id(), around));
  }
  // The ids of those that are dirty, at most `most` of them.
  Ids dirty(size_t most = 100) {
    Ids ids;
    table.take_dirty([&](size_t taken) { return taken == most; },
                     [&](PeerTable::Peer& peer) { ids.push_back(peer.connection.id()); });
    return ids;
  }
};

TEST(PeerTable, WhatIsMarkedTwiceIsHandedOutOnceInTheOrderOfTheMarks) {
  Bench bench;
  PeerTable::Peer& first = bench.come();
  PeerTable::Peer& second = bench.come();
  for (PeerTable::Peer* peer : {&second, &first, &second}) {
    bench.table.mark_dirty(*peer);
  }
  EXPECT_FALSE(bench.table.is_idle());
  EXPECT_EQ(bench.dirty(), (Ids{second.connection.id(), first.connection.id()}));
  EXPECT_TRUE(bench.table.is_idle());
  bench.table.mark_dirty(first);
  EXPECT_EQ(bench.dirty(), (Ids{first.connection.id()}));
}

TEST(PeerTable, WhatATurnHasNoTimeForComesBeforeWhatWasMarkedMeanwhile) {
  Bench bench;
  PeerTable::Peer& first = bench.come();
  PeerTable::Peer& second = bench.come();
  bench.table.mark_dirty(first);
  bench.table.mark_dirty(second);
  bench.table.take_dirty([](size_t taken) { return taken == 1; },
                         [&](PeerTable::Peer& peer) { bench.table.mark_dirty(peer); });
  EXPECT_EQ(bench.dirty(), (Ids{second.connection.id(), first.connection.id()}));
}

// One caller with many connections, one with one.
TEST(PeerTable, CallersTakeTurns) {
  Bench bench;
  std::vector<PeerTable::Peer*> peers;
  for (const std::string caller : {"1", "1", "1", "2"}) {
    peers.push_back(&bench.come());
    std::string request = "GET / HTTP/1.1\r\nHost: a\r\nX-Caller: " + caller + "\r\n\r\n";
    peers.back()->connection.feed(request);
    bench.table.mark_dirty(*peers.back());
  }
  EXPECT_EQ(bench.dirty(), (Ids{1, 4, 2, 3}));
}

// The caller of a new connection is known only when it was served: it must not have been free of
// charge until then, or who always has new ones comes before everybody.
TEST(PeerTable, NewConnectionsPayInTheLineInWhichTheyStood) {
  Bench bench;
  const auto feed = [](PeerTable::Peer& peer, const std::string& caller) {
    std::string request = "GET / HTTP/1.1\r\nHost: a\r\nX-Caller: " + caller + "\r\n\r\n";
    peer.connection.feed(request);
  };
  Ids served;
  const auto serve = [&](PeerTable::Peer& peer) {
    const uint64_t line = peer.connection.line();
    served.push_back(peer.connection.id());
    feed(peer, peer.connection.id() == 1 ? "2" : "1");
    bench.table.charge_ready(peer, line, base::microseconds(500));
  };
  PeerTable::Peer& known = bench.come();
  feed(known, "2");
  bench.table.mark_ready(known);
  bench.table.take_ready([](size_t) { return false; }, serve);
  for (size_t n = 0; n < 3; ++n) {
    bench.table.mark_ready(bench.come());
  }
  bench.table.mark_ready(known);
  bench.table.take_ready([](size_t) { return false; }, serve);
  EXPECT_EQ(served, (Ids{1, 2, 1, 3, 4}));
}

TEST(PeerTable, TheDeadAreDroppedOnceAndAreNotHandedOutAnyMore) {
  Bench bench;
  PeerTable::Peer& known = bench.come();
  PeerTable::Peer& silent = bench.come();
  bench.come();
  std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  known.connection.feed(request);
  for (PeerTable::Peer* peer : {&known, &silent}) {
    peer->connection.fail();
    bench.table.mark_dirty(*peer);
    bench.table.mark_dead(*peer);
  }
  std::vector<std::pair<ConnectionId, bool>> dropped;
  const auto drop = [&](size_t most) {
    bench.table.drop_dead([&](size_t taken) { return taken == most; },
                          [&](ConnectionId id, bool is_known) {
                            EXPECT_EQ(bench.table.find(id), nullptr);
                            dropped.emplace_back(id, is_known);
                          });
  };
  drop(1);
  EXPECT_TRUE(bench.table.has_dead());
  drop(100);
  EXPECT_FALSE(bench.table.has_dead());
  EXPECT_EQ(dropped, (std::vector<std::pair<ConnectionId, bool>>{{1, true}, {2, false}}));
  EXPECT_EQ(bench.table.size(), 1u);
  EXPECT_TRUE(bench.dirty().empty());
}

TEST(PeerTable, OnlyWhatWasCutShortIsResumed) {
  Bench bench;
  bench.around.turn_is_over = [] { return true; };
  PeerTable::Peer& idle = bench.come();
  PeerTable::Peer& busy = bench.come();
  std::string two = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
  busy.connection.feed(two);
  for (PeerTable::Peer* peer : {&idle, &busy, &busy}) {
    bench.table.mark_cut(*peer);
  }
  Ids resumed;
  bench.table.take_ready([](size_t) { return false; },
                         [&](PeerTable::Peer& peer) { resumed.push_back(peer.connection.id()); });
  EXPECT_EQ(resumed, (Ids{busy.connection.id()}));
}

}  // namespace
}  // namespace parley::net
