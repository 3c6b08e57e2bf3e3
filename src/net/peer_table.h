// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fair_queue.h"
#include "net/connection/connection.h"

namespace parley::net {

// The connections of a server, and what its turns have still to do with them. What is marked is
// handed out once: the lines (Connection::line) in turn, in each the order of the marks. What a
// turn has no time for is for the next. On the server's thread.
class PeerTable {
 public:
  // A connection, and what its server has noted of it. Each server adds what the bytes go through.
  struct Peer {
    Peer(ConnectionId id, Surroundings& around) : connection(id, around) {}
    virtual ~Peer() = default;

    Connection connection;
    bool waits_to_read = false;
    bool waits_to_write = false;
    bool has_ended = false;  // our side
    bool is_dirty = false;   // in dirty_
    bool is_dead = false;    // in dead_
    bool is_ready = false;   // in ready_
  };

  // For the peer that is added next.
  ConnectionId next_id() { return ++last_id_; }
  Peer& add(std::unique_ptr<Peer> peer);
  // Null when it was dropped.
  Peer* find(ConnectionId id) const;
  size_t size() const { return peers_.size(); }

  // It may have something to write, or may be dead.
  void mark_dirty(Peer& peer);
  // If it is dead, it is to be dropped.
  void mark_dead(Peer& peer);
  // If its time was too short for all of its bytes, it is to be resumed.
  void mark_cut(Peer& peer);
  // It is to be read, or resumed.
  void mark_ready(Peer& peer);
  // What was done with one that was ready has taken so long: by that its line gets its next turn.
  // That is the line in which it stood before, and that of its caller, if it is known since.
  void charge_ready(const Peer& peer, uint64_t stood_in, Duration time);
  void charge_dirty(const Peer& peer, uint64_t stood_in, Duration time);  // of one that was dirty
  bool has_dead() const { return !dead_.empty(); }
  size_t dead() const { return dead_.size(); }
  bool has_ready() const { return !ready_.empty(); }
  // Whether the next turn has nothing to do.
  bool is_idle() const { return dirty_.empty() && dead_.empty() && ready_.empty(); }

  // Calls `act` with as many as are dirty or ready. Before each, `is_over` is asked with how many
  // there were: once it says yes the rest is left. `act` must not drop any.
  template <class IsOver, class Act>
  void take_dirty(const IsOver& is_over, const Act& act) {
    take(dirty_, &Peer::is_dirty, is_over, act);
  }
  template <class IsOver, class Act>
  void take_ready(const IsOver& is_over, const Act& act) {
    take(ready_, &Peer::is_ready, is_over, act);
  }
  // The same for dead ones, in the order of their deaths: each is gone when `dropped` is called
  // with its id, and with whether the handler knows of it.
  template <class IsOver, class Dropped>
  void drop_dead(const IsOver& is_over, const Dropped& dropped) {
    const Ids taken = std::exchange(dead_, {});
    for (size_t n = 0; n < taken.size(); ++n) {
      if (is_over(n)) {
        dead_.insert(dead_.begin(), taken.begin() + static_cast<std::ptrdiff_t>(n), taken.end());
        return;
      }
      const auto at = peers_.find(taken[n]);
      const bool is_known = at->second->connection.is_known();
      peers_.erase(at);
      dropped(taken[n], is_known);
    }
  }

  // Calls `act` with all of them, in no order. It must add and drop none.
  template <class Act>
  void each(const Act& act) {
    for (const auto& [id, peer] : peers_) {
      act(*peer);
    }
  }

 private:
  using Ids = std::vector<ConnectionId>;

  static void charge(base::FairQueue<ConnectionId>& queue, const Peer& peer, uint64_t stood_in,
                     Duration time);
  template <class Queue, class IsOver, class Act>
  void take(Queue& queue, bool Peer::*mark, const IsOver& is_over, const Act& act) {
    const size_t marked = queue.size();
    for (size_t n = 0; n < marked && !is_over(n); ++n) {
      if (Peer* const peer = find(queue.pop())) {
        peer->*mark = false;
        act(*peer);
      }
    }
  }

  std::unordered_map<ConnectionId, std::unique_ptr<Peer>> peers_;
  ConnectionId last_id_ = 0;
  static constexpr uint64_t credit = 300;  // microseconds
  // Have something to write, or have ended.
  base::FairQueue<ConnectionId> dirty_{credit};
  // Can be read, or have more than their time was enough for.
  base::FairQueue<ConnectionId> ready_{credit};
  Ids dead_;  // to be dropped
};

}  // namespace parley::net
