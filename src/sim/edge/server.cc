// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/server.h"

#include <algorithm>
#include <utility>

#include "net/http.h"

namespace parley::edge_sim {

namespace {

using base::Duration;

constexpr size_t read_bytes_max = 256 * 1'024;
// Where it is busy: what a request and a write take, and what a turn has for either, and for one
// connection while others wait.
constexpr Duration request_time = base::microseconds(100);
constexpr Duration write_time = base::microseconds(50);
constexpr Duration part_max = base::microseconds(1'500);
constexpr Duration slice_max = base::microseconds(600);

}  // namespace

PipeServer::PipeServer(const Limits& limits, net::Handler& handler, base::Clock& clock,
                       sim::Random& random, bool is_busy)
    : Peers(limits, handler), clock_(clock), random_(random), is_busy_(is_busy) {
  update_time();
  if (is_busy_) {
    around_.turn_is_over = [this] {
      worked_ = worked_ + request_time;
      return is_too_long(began_) || (worked_ - slice_began_ > slice_max && peers_.has_ready());
    };
  }
}

bool PipeServer::is_too_long(Time began) const { return worked_ - began > part_max; }

void PipeServer::update_time() {
  around_.now = clock_.now();
  around_.date = net::http_date(around_.now);
}

void PipeServer::connect(std::shared_ptr<BytePipe> pipe) {
  update_time();
  const bool is_over = is_busy_ && !make_room();
  const net::ConnectionId id = peers_.next_id();
  Peer& peer = peers_.add(std::make_unique<PipePeer>(id, around_, pipe));
  pipes_.emplace(id, std::move(pipe));
  if (is_over) {
    peer.connection.refuse({base::Code::overloaded, "no more connections are allowed", {}});
    peers_.mark_dirty(peer);
  }
  wait_to_read(peer);
}

Time PipeServer::turn() {
  update_time();
  began_ = worked_;
  for (auto at = pipes_.begin(); at != pipes_.end();) {
    Peer* const peer = peers_.find(at->first);
    if (peer == nullptr) {
      at = pipes_.erase(at);
      continue;
    }
    BytePipe& pipe = *at->second;
    if (peer->waits_to_write && (pipe.down.size() < pipe.down_max || pipe.client_gone)) {
      peer->waits_to_write = false;
      peers_.mark_dirty(*peer);
    }
    const bool has_input = !pipe.up.empty() || pipe.client_ended || pipe.client_gone;
    if (peer->waits_to_read && is_busy_ && has_input) {
      peers_.mark_ready(*peer);
    } else if (peer->waits_to_read && !is_busy_) {
      read(*peer, pipe);
    }
    ++at;
  }
  while (peers_.has_ready() && !is_too_long(began_)) {
    peers_.take_ready([](size_t taken) { return taken > 0; }, [this](Peer& peer) { serve(peer); });
  }
  return work();
}

void PipeServer::serve(Peer& peer) {
  const uint64_t line = peer.connection.line();
  slice_began_ = worked_;
  worked_ = worked_ + request_time;
  if (peer.connection.is_cut_short()) {
    resume(peer);
  } else {
    read(peer, *of(peer).pipe);
    peers_.mark_cut(peer);
  }
  peers_.charge_ready(peer, line, worked_ - slice_began_);
}

bool PipeServer::has_work() const {
  return !peers_.is_idle() || std::ranges::any_of(pipes_, [this](const auto& each) {
    const Peer* const peer = peers_.find(each.first);
    const BytePipe& pipe = *each.second;
    return peer != nullptr &&
           ((peer->waits_to_read && (!pipe.up.empty() || pipe.client_ended || pipe.client_gone)) ||
            (peer->waits_to_write && pipe.down.size() < pipe.down_max));
  });
}

size_t PipeServer::buffered_bytes() const {
  size_t bytes = 0;
  for (const auto& [id, pipe] : pipes_) {
    bytes += buffered(id);
  }
  return bytes;
}

void PipeServer::read(Peer& peer, BytePipe& pipe) {
  net::Connection& connection = peer.connection;
  if (!connection.wants_input()) {
    peer.waits_to_read = false;
    peers_.mark_dirty(peer);
    return;
  }
  size_t size = std::min(pipe.up.size(), read_bytes_max);
  if (!is_busy_ && size > 1 && random_.chance(300)) {
    size = 1 + random_.below(size);
  }
  if (size > 0) {
    std::string bytes = connection.kept() + pipe.up.substr(0, size);
    pipe.up.erase(0, size);
    connection.feed(bytes);
  }
  if (pipe.up.empty() && pipe.client_gone) {
    connection.fail();
  } else if (pipe.up.empty() && pipe.client_ended) {
    connection.input_ended();
  }
  peer.waits_to_read = connection.wants_input();
  if (!connection.output().empty() || !connection.wants_input() ||
      connection.phase() != net::Connection::Phase::open) {
    peers_.mark_dirty(peer);
  }
}

void PipeServer::write(Peer& peer) {
  BytePipe& pipe = *of(peer).pipe;
  net::Connection& connection = peer.connection;
  worked_ = is_busy_ ? worked_ + write_time : worked_;
  while (!connection.output().empty() && connection.phase() != net::Connection::Phase::dead) {
    if (pipe.client_gone) {  // A reset is known to the system at once.
      connection.fail();
      return;
    }
    const size_t room = pipe.down_max - std::min(pipe.down_max, pipe.down.size());
    const size_t size = std::min(room, connection.output().size());
    if (size == 0) {
      peer.waits_to_write = true;
      return;
    }
    pipe.down.append(connection.output().substr(0, size));
    pipe.unheard.append(connection.output().substr(0, size));
    connection.wrote(size);
  }
}

void PipeServer::end(Peer& peer) { of(peer).pipe->server_ended = true; }

}  // namespace parley::edge_sim
