// SPDX-License-Identifier: Apache-2.0
#include "net/peers.h"

#include <algorithm>
#include <utility>

namespace parley::net {

namespace {

constexpr Duration sweep_max = base::seconds(1);

// How often the times of all connections are checked: an eighth of the shortest limit, so that none
// is overrun by much.
Duration sweep_interval(const Server::Limits& limits) {
  const Duration shortest =
      std::min({limits.request_timeout, limits.idle_timeout, limits.ping_interval});
  return std::clamp(Duration{shortest.us / 8}, base::milliseconds(2), sweep_max);
}

}  // namespace

Peers::Peers(const Limits& limits, Handler& handler) : sweep_interval_(sweep_interval(limits)) {
  around_.limits = limits;
  around_.handler = &handler;
}

Peers::Peer& Peers::add(std::unique_ptr<Peer> peer) {
  Peer& added = *peer;
  peers_.emplace(added.connection.id(), std::move(peer));
  return added;
}

Peers::Peer* Peers::find(ConnectionId id) const {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.get();
}

// Only this may be called on other threads, so only `posted_` is locked.
void Peers::post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(work));
}

void Peers::run_posted() {
  // Run without the lock: the work may post again.
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (const auto& each : work) {
    each();
  }
}

Time Peers::work() {
  run_posted();
  if (around_.now >= next_sweep_) {
    sweep();
  }
  reap();
  const Time due = around_.handler->on_turn();
  flush();
  return due;
}

void Peers::sweep() {
  next_sweep_ = around_.now + sweep_interval_;
  for (const auto& [id, peer] : peers_) {
    peer->connection.tick();
    if (!peer->connection.output().empty() || peer->connection.phase() != Connection::Phase::open) {
      mark_dirty(*peer);
    }
  }
}

// Drops the connections that are dead, and tells the handler. Here no function further up the stack
// works with one of them. The handler may have a thousand calls to cancel for each, so when there
// are many, the rest is left to the next turn, which comes at once.
void Peers::reap() {
  std::vector<ConnectionId> gone;
  gone.swap(dead_);
  const Time began = time_of_work();
  for (size_t n = 0; n < gone.size(); ++n) {
    if (n > 0 && is_too_long(began)) {
      dead_.insert(dead_.begin(), gone.begin() + static_cast<std::ptrdiff_t>(n), gone.end());
      return;
    }
    const ConnectionId id = gone[n];
    const auto found = peers_.find(id);
    const bool is_known = found->second->connection.is_known();
    peers_.erase(found);
    if (is_known) {
      around_.handler->on_closed(id);
    }
  }
}

void Peers::flush() {
  // A connection that becomes dirty meanwhile is for the next turn, which comes at once. So is the
  // rest when very many have something to write. The clock is read for every eighth only.
  constexpr size_t looks_every = 8;
  std::vector<ConnectionId> work;
  work.swap(dirty_);
  const Time began = time_of_work();
  for (size_t n = 0; n < work.size(); ++n) {
    if (n % looks_every == looks_every - 1 && is_too_long(began)) {
      dirty_.insert(dirty_.begin(), work.begin() + static_cast<std::ptrdiff_t>(n), work.end());
      return;
    }
    if (Peer* each = find(work[n])) {
      each->is_dirty = false;
      flush(*each);
    }
  }
}

void Peers::mark_cut(Peer& peer) {
  if (peer.connection.is_cut_short() && !std::exchange(peer.is_cut, true)) {
    cut_.push_back(peer.connection.id());
  }
}

void Peers::resume_cut() {
  std::vector<ConnectionId> work;
  work.swap(cut_);
  for (size_t n = 0; n < work.size(); ++n) {
    if (n > 0 && around_.turn_is_over()) {
      cut_.insert(cut_.begin(), work.begin() + static_cast<std::ptrdiff_t>(n), work.end());
      return;
    }
    if (Peer* each = find(work[n])) {
      each->is_cut = false;
      each->connection.resume();
      mark_cut(*each);
      mark_dirty(*each);
    }
  }
}

void Peers::flush(Peer& peer) {
  Connection& connection = peer.connection;
  if (!peer.waits_to_write) {
    write(peer);
  }
  if (connection.output_ended() && !peer.has_ended) {
    peer.has_ended = true;
    end(peer);
  }
  connection.end_of_turn();
  mark_dead(peer);
  if (connection.wants_input() && !peer.waits_to_read) {
    if (!connection.kept().empty()) {
      connection.resume();
      mark_cut(peer);
      mark_dirty(peer);
    }
    // A connection that paused again must not wait for bytes: it has to come here once more, for
    // those that it keeps.
    if (connection.wants_input()) {
      read_on(peer);
    }
  }
}

void Peers::mark_dirty(Peer& peer) {
  if (!std::exchange(peer.is_dirty, true)) {
    dirty_.push_back(peer.connection.id());
  }
  mark_dead(peer);
}

void Peers::mark_dead(Peer& peer) {
  if (peer.connection.phase() == Connection::Phase::dead && !std::exchange(peer.is_dead, true)) {
    dead_.push_back(peer.connection.id());
  }
}

void Peers::close_all(uint16_t code, std::string_view reason) {
  for (const auto& [id, peer] : peers_) {
    peer->connection.close(code, reason);
    mark_dirty(*peer);
  }
}

void Peers::fail_all() {
  for (const auto& [id, peer] : peers_) {
    peer->connection.fail();
    mark_dead(*peer);
  }
  while (!dead_.empty()) {
    reap();
  }
}

template <class Act>
void Peers::with(ConnectionId id, const Act& act) {
  if (Peer* found = find(id)) {
    act(found->connection);
    mark_dirty(*found);
  }
}

void Peers::respond(const Exchange& exchange, const Response& response) {
  with(exchange.connection, [&](Connection& each) { each.respond(exchange.number, response); });
}

void Peers::start_stream(const Exchange& exchange, const Response& head) {
  with(exchange.connection, [&](Connection& each) { each.start_stream(exchange.number, head); });
}

void Peers::accept_websocket(const Exchange& exchange, std::string_view protocol) {
  with(exchange.connection,
       [&](Connection& each) { each.accept_websocket(exchange.number, protocol); });
}

void Peers::send(ConnectionId connection, std::string_view bytes, std::vector<Report> reports) {
  with(connection, [&](Connection& each) { each.send(bytes, std::move(reports)); });
}

size_t Peers::buffered(ConnectionId connection) const {
  const Peer* const found = find(connection);
  return found == nullptr ? 0 : found->connection.buffered();
}

bool Peers::has_room(ConnectionId connection) const {
  const Peer* const found = find(connection);
  return found == nullptr || found->connection.has_room();
}

void Peers::close(ConnectionId connection, uint16_t code, std::string_view reason) {
  with(connection, [&](Connection& each) { each.close(code, reason); });
}

}  // namespace parley::net
