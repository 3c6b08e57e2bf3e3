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
  explicit Crowd(Handler& handler) : Peers({}, handler) {}

  void come() {
    Peer& peer = peers_.add(std::make_unique<Peer>(peers_.next_id(), around_));
    std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    peer.connection.feed(request);
    all_.push_back(peer.connection.id());
  }
  void hang_up() {
    for (const ConnectionId id : all_) {
      Peer& peer = *peers_.find(id);
      peer.connection.fail();
      peers_.mark_dirty(peer);
    }
  }
  bool is_idle() const { return peers_.is_idle(); }
  using Peers::fail_all;
  using Peers::work;

 private:
  void write(Peer&) override {}
  void end(Peer&) override {}
  void wait_to_read(Peer&) override {}
  bool is_too_long(Time) const override { return true; }

  std::vector<ConnectionId> all_;
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
