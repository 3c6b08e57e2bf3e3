// SPDX-License-Identifier: Apache-2.0
#include "net/peer_table.h"

#include <algorithm>
#include <utility>

namespace parley::net {

PeerTable::Peer& PeerTable::add(std::unique_ptr<Peer> peer) {
  Peer& added = *peer;
  peers_.emplace(added.connection.id(), std::move(peer));
  return added;
}

PeerTable::Peer* PeerTable::find(ConnectionId id) const {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.get();
}

void PeerTable::mark_dirty(Peer& peer) {
  if (!std::exchange(peer.is_dirty, true)) {
    dirty_.push(peer.connection.line(), peer.connection.id());
  }
  mark_dead(peer);
}

void PeerTable::mark_dead(Peer& peer) {
  if (peer.connection.phase() == Connection::Phase::dead && !std::exchange(peer.is_dead, true)) {
    dead_.push_back(peer.connection.id());
  }
}

void PeerTable::mark_cut(Peer& peer) {
  if (peer.connection.is_cut_short()) {
    mark_ready(peer);
  }
}

void PeerTable::mark_ready(Peer& peer) {
  if (!std::exchange(peer.is_ready, true)) {
    ready_.push(peer.connection.line(), peer.connection.id());
  }
}

void PeerTable::charge_ready(const Peer& peer, uint64_t stood_in, Duration time) {
  charge(ready_, peer, stood_in, time);
}

void PeerTable::charge_dirty(const Peer& peer, uint64_t stood_in, Duration time) {
  charge(dirty_, peer, stood_in, time);
}

void PeerTable::charge(base::FairQueue<ConnectionId>& queue, const Peer& peer, uint64_t stood_in,
                       Duration time) {
  const auto cost = static_cast<uint64_t>(std::max<int64_t>(time.us, 0));
  queue.charge(stood_in, cost);
  if (const uint64_t line = peer.connection.line(); line != stood_in) {
    queue.charge(line, cost);
  }
}

}  // namespace parley::net
