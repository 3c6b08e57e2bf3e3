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

Time Peers::work() {
  const Time began = time_of_work();
  posted_.run([&] { return is_too_long(began); });
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
  peers_.each([this](Peer& peer) {
    peer.connection.tick();
    if (peer.connection.is_deaf() && has_left(peer)) {
      peer.connection.fail();
    }
    if (!peer.connection.output().empty() || peer.connection.phase() != Connection::Phase::open) {
      peers_.mark_dirty(peer);
    }
  });
}

// Drops the connections that are dead, and tells the handler. Here no function further up the stack
// works with one of them. The handler may have a thousand calls to cancel for each, so when there
// are many, the rest is left to the next turn, which comes at once.
void Peers::reap() {
  const Time began = time_of_work();
  peers_.drop_dead([&](size_t dropped) { return dropped > 0 && is_too_long(began); },
                   [this](ConnectionId id, bool is_known) {
                     if (is_known) {
                       around_.handler->on_closed(id);
                     }
                   });
}

// A connection that becomes dirty meanwhile is for the next turn, which comes at once. So is the
// rest when very many have something to write. The clock is read for each: one that was paused goes
// on with what it kept, and the next request of a stranger may ask for a large answer.
void Peers::flush() {
  const Time began = time_of_work();
  const auto is_over = [&](size_t flushed) { return flushed > 0 && is_too_long(began); };
  peers_.take_dirty(is_over, [this](Peer& peer) {
    const Time flushed_from = time_of_work();
    const uint64_t line = peer.connection.line();
    flush(peer);
    peers_.charge_dirty(peer, line, time_of_work() - flushed_from);
  });
}

void Peers::resume(Peer& peer) {
  peer.connection.resume();
  peers_.mark_cut(peer);
  peers_.mark_dirty(peer);
}

bool Peers::make_room() {
  const auto has_room = [this] {
    return peers_.size() - peers_.dead() < around_.limits.connections_max;
  };
  for (const ConnectionId id : around_.accounts.strangers()) {
    if (has_room()) {
      break;
    }
    // One that is closing has an answer to get, and goes soon.
    if (Peer& silent = *peers_.find(id); silent.connection.phase() == Connection::Phase::open) {
      silent.connection.fail();
      peers_.mark_dirty(silent);
    }
  }
  return has_room();
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
  peers_.mark_dead(peer);
  if (connection.wants_input() && !peer.waits_to_read) {
    if (!connection.kept().empty()) {
      resume(peer);
    }
    // A connection that paused again must not wait for bytes: it has to come here once more, for
    // those that it keeps.
    if (connection.wants_input()) {
      read_on(peer);
    }
  }
}

void Peers::close_all(uint16_t code, std::string_view reason) {
  peers_.each([&](Peer& peer) {
    peer.connection.close(code, reason);
    peers_.mark_dirty(peer);
  });
}

void Peers::fail_all() {
  peers_.each([this](Peer& peer) {
    peer.connection.fail();
    peers_.mark_dead(peer);
  });
  while (peers_.has_dead()) {
    reap();
  }
}

template <class Act>
void Peers::with(ConnectionId id, const Act& act) {
  if (Peer* const found = peers_.find(id)) {
    act(found->connection);
    peers_.mark_dirty(*found);
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
  const Peer* const found = peers_.find(connection);
  return found == nullptr ? 0 : found->connection.buffered();
}

bool Peers::has_room(ConnectionId connection) const {
  const Peer* const found = peers_.find(connection);
  return found == nullptr || found->connection.has_room();
}

void Peers::close(ConnectionId connection, uint16_t code, std::string_view reason) {
  with(connection, [&](Connection& each) { each.close(code, reason); });
}

}  // namespace parley::net
