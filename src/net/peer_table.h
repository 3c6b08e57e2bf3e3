// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/connection/connection.h"

namespace parley::net {

// The connections of a server, and what its turns have still to do with them. What is marked is
// handed out once, in the order of the marks; what a turn has no time for is handed out first by
// the next. On the server's thread.
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
    bool is_cut = false;     // in cut_
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
  // If the turn was too short for all of its bytes, it is to be resumed.
  void mark_cut(Peer& peer);
  bool has_dead() const { return !dead_.empty(); }
  // Whether the next turn has nothing to do.
  bool is_idle() const { return dirty_.empty() && dead_.empty() && cut_.empty(); }

  // Calls `act` with each that is dirty, cut or dead; what is marked meanwhile is for the next
  // time. Before each, `is_over` is asked with how many there were: once it says yes the rest is
  // left, in front. `act` must not drop any.
  template <class IsOver, class Act>
  void take_dirty(const IsOver& is_over, const Act& act) {
    take(dirty_, is_over, [&](ConnectionId id) {
      if (Peer* const peer = find(id)) {
        peer->is_dirty = false;
        act(*peer);
      }
    });
  }
  template <class IsOver, class Act>
  void take_cut(const IsOver& is_over, const Act& act) {
    take(cut_, is_over, [&](ConnectionId id) {
      if (Peer* const peer = find(id)) {
        peer->is_cut = false;
        act(*peer);
      }
    });
  }
  // The same for dead ones: each is gone when `dropped` is called with its id, and with whether the
  // handler knows of it.
  template <class IsOver, class Dropped>
  void drop_dead(const IsOver& is_over, const Dropped& dropped) {
    take(dead_, is_over, [&](ConnectionId id) {
      const auto at = peers_.find(id);
      const bool is_known = at->second->connection.is_known();
      peers_.erase(at);
      dropped(id, is_known);
    });
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

  template <class IsOver, class Act>
  static void take(Ids& list, const IsOver& is_over, const Act& act) {
    const Ids taken = std::exchange(list, {});
    for (size_t n = 0; n < taken.size(); ++n) {
      if (is_over(n)) {
        list.insert(list.begin(), taken.begin() + static_cast<std::ptrdiff_t>(n), taken.end());
        return;
      }
      act(taken[n]);
    }
  }

  std::unordered_map<ConnectionId, std::unique_ptr<Peer>> peers_;
  ConnectionId last_id_ = 0;
  Ids dirty_;  // have something to write, or have ended
  Ids dead_;   // to be dropped
  Ids cut_;    // have more to be read than the turn had time for
};

}  // namespace parley::net
