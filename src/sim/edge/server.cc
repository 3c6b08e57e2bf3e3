// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/server.h"

#include <algorithm>
#include <utility>

#include "net/http.h"

namespace parley::edge_sim {

namespace {

constexpr size_t read_bytes_max = 256 * 1'024;

}  // namespace

PipeServer::PipeServer(const Limits& limits, net::Handler& handler, base::Clock& clock,
                       sim::Random& random)
    : Peers(limits, handler), clock_(clock), random_(random) {
  update_time();
}

void PipeServer::update_time() {
  around_.now = clock_.now();
  around_.date = net::http_date(around_.now);
}

void PipeServer::connect(std::shared_ptr<BytePipe> pipe) {
  update_time();
  const net::ConnectionId id = peers_.next_id();
  Peer& peer = peers_.add(std::make_unique<PipePeer>(id, around_, pipe));
  pipes_.emplace(id, std::move(pipe));
  wait_to_read(peer);
}

Time PipeServer::turn() {
  update_time();
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
    if (peer->waits_to_read) {
      read(*peer, pipe);
    }
    ++at;
  }
  return work();
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
  if (size > 1 && random_.chance(300)) {
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
