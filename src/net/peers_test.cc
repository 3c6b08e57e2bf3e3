// SPDX-License-Identifier: Apache-2.0
#include "net/peers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace parley::net {
namespace {

class Listener final : public Handler {
 public:
  CallerId on_head(const Request&) override { return 1; }
  void on_request(const Exchange&, const Request&) override {}
  void on_message(ConnectionId, std::string_view) override {}
  void on_closed(ConnectionId) override { ++closed; }
  void on_drained(ConnectionId) override {}
  Time on_turn() override { return base::time_max; }

  int closed = 0;
};

// Connections of which a request was seen, and turns that are too long from the start.
class Crowd final : public Peers {
 public:
  explicit Crowd(Handler& handler, const Limits& limits = {}) : Peers(limits, handler) {}

  ConnectionId come(std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n") {
    Peer& peer = peers_.add(std::make_unique<Peer>(peers_.next_id(), around_));
    peer.connection.feed(request);
    all_.push_back(peer.connection.id());
    return peer.connection.id();
  }
  void say(ConnectionId id, std::string bytes) { peers_.find(id)->connection.feed(bytes); }
  bool is_there(ConnectionId id) const {
    const Peer* const found = peers_.find(id);
    return found != nullptr && found->connection.phase() == Connection::Phase::open;
  }
  void leave() { have_left_ = true; }
  void pass(Duration time) { around_.now = around_.now + time; }
  void hang_up() {
    for (const ConnectionId id : all_) {
      Peer& peer = *peers_.find(id);
      peer.connection.fail();
      peers_.mark_dirty(peer);
    }
  }
  using Peers::fail_all;
  using Peers::is_idle;
  using Peers::make_room;
  using Peers::work;

 private:
  void write(Peer&) override {}
  void end(Peer&) override {}
  void wait_to_read(Peer&) override {}
  bool is_too_long(Time) const override { return true; }
  bool has_left(Peer&) override { return have_left_; }

  std::vector<ConnectionId> all_;
  bool have_left_ = false;
};

// A client with thousands of connections leaves: others are served in between.
TEST(Peers, ManyThatHangUpAreDroppedInSeveralTurns) {
  Listener listener;
  Crowd crowd(listener);
  for (int n = 0; n < 3; ++n) {
    crowd.come();
  }
  crowd.hang_up();
  for (int turn = 1; turn <= 3; ++turn) {
    EXPECT_FALSE(crowd.is_idle());
    crowd.work();
    EXPECT_EQ(listener.closed, turn);
  }
  EXPECT_EQ(crowd.connections(), 0u);
}

TEST(Peers, WhoIsSilentForLongestWithoutATokenMakesRoom) {
  Listener listener;
  Crowd crowd(listener, {.connections_max = 4});
  const ConnectionId known = crowd.come();
  const ConnectionId first = crowd.come("");
  const ConnectionId second = crowd.come("");
  EXPECT_TRUE(crowd.make_room());
  EXPECT_TRUE(crowd.is_there(first));
  const ConnectionId third = crowd.come("");
  crowd.say(first, "G");
  EXPECT_TRUE(crowd.make_room());
  EXPECT_FALSE(crowd.is_there(second));
  // Its place is free though it is not dropped yet.
  EXPECT_TRUE(crowd.make_room());
  EXPECT_TRUE(crowd.is_there(first) && crowd.is_there(third) && crowd.is_there(known));
  crowd.work();
  EXPECT_EQ(crowd.connections(), 3u);
  EXPECT_EQ(listener.closed, 0);
}

TEST(Peers, WhoIsKnownMakesNoRoom) {
  Listener listener;
  Crowd crowd(listener, {.connections_max = 2});
  crowd.come();
  crowd.come();
  EXPECT_FALSE(crowd.make_room());
}

// Nothing is read of it, so its end would not be seen.
TEST(Peers, WhoLeavesWhileNothingIsReadOfItIsNoticed) {
  Listener listener;
  Crowd crowd(listener, {.pipelined_max = 1});
  const ConnectionId waiting = crowd.come();
  crowd.pass(base::seconds(2));
  crowd.work();
  EXPECT_TRUE(crowd.is_there(waiting));
  crowd.leave();
  crowd.pass(base::seconds(2));
  crowd.work();
  crowd.work();
  EXPECT_EQ(listener.closed, 1);
}

TEST(Peers, WhatIsPostedIsDoneInSeveralTurns) {
  Listener listener;
  Crowd crowd(listener);
  std::string done;
  for (const char each : {'a', 'b', 'c'}) {
    crowd.post([&done, each] { done += each; });
  }
  for (const std::string expected : {"a", "ab", "abc"}) {
    crowd.work();
    EXPECT_EQ(done, expected);
    EXPECT_EQ(crowd.is_idle(), expected == "abc");
  }
}

TEST(Peers, AllAreDroppedAtTheEnd) {
  Listener listener;
  Crowd crowd(listener);
  for (int n = 0; n < 3; ++n) {
    crowd.come();
  }
  crowd.fail_all();
  EXPECT_EQ(listener.closed, 3);
  EXPECT_EQ(crowd.connections(), 0u);
}

}  // namespace
}  // namespace parley::net
