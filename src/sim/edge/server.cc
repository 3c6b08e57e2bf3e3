// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/server.h"

#include <algorithm>
#include <utility>

#include "net/http.h"

namespace parley::edge_sim {

namespace {

constexpr size_t read_bytes_max = 256 * 1'024;

}  // namespace

LinkServer::LinkServer(const Limits& limits, net::Handler& handler, base::Clock& clock,
                       sim::Random& random)
    : Peers(limits, handler), clock_(clock), random_(random) {
  update_time();
}

void LinkServer::update_time() {
  around_.now = clock_.now();
  around_.date = net::http_date(around_.now);
}

void LinkServer::connect(std::shared_ptr<Link> link) {
  update_time();
  const net::ConnectionId id = next_id();
  Peer& peer = add(std::make_unique<LinkPeer>(id, around_, link));
  links_.emplace(id, std::move(link));
  wait_to_read(peer);
}

Time LinkServer::turn() {
  update_time();
  for (auto at = links_.begin(); at != links_.end();) {
    Peer* const peer = find(at->first);
    if (peer == nullptr) {
      at = links_.erase(at);
      continue;
    }
    Link& link = *at->second;
    if (peer->waits_to_write && (link.down.size() < link.down_max || link.client_gone)) {
      peer->waits_to_write = false;
      mark_dirty(*peer);
    }
    if (peer->waits_to_read) {
      read(*peer, link);
    }
    ++at;
  }
  return work();
}

bool LinkServer::has_work() const {
  return !is_idle() || std::ranges::any_of(links_, [this](const auto& each) {
    const Peer* const peer = find(each.first);
    const Link& link = *each.second;
    return peer != nullptr &&
           ((peer->waits_to_read && (!link.up.empty() || link.client_ended || link.client_gone)) ||
            (peer->waits_to_write && link.down.size() < link.down_max));
  });
}

size_t LinkServer::buffered_bytes() const {
  size_t bytes = 0;
  for (const auto& [id, link] : links_) {
    bytes += buffered(id);
  }
  return bytes;
}

void LinkServer::read(Peer& peer, Link& link) {
  net::Connection& connection = peer.connection;
  if (!connection.wants_input()) {
    peer.waits_to_read = false;
    mark_dirty(peer);
    return;
  }
  size_t size = std::min(link.up.size(), read_bytes_max);
  if (size > 1 && random_.chance(300)) {
    size = 1 + random_.below(size);
  }
  if (size > 0) {
    std::string bytes = connection.kept() + link.up.substr(0, size);
    link.up.erase(0, size);
    connection.feed(bytes);
  }
  if (link.up.empty() && link.client_gone) {
    connection.fail();
  } else if (link.up.empty() && link.client_ended) {
    connection.input_ended();
  }
  peer.waits_to_read = connection.wants_input();
  if (!connection.output().empty() || !connection.wants_input() ||
      connection.phase() != net::Connection::Phase::open) {
    mark_dirty(peer);
  }
}

void LinkServer::write(Peer& peer) {
  Link& link = *of(peer).link;
  net::Connection& connection = peer.connection;
  while (!connection.output().empty() && connection.phase() != net::Connection::Phase::dead) {
    if (link.client_gone) {  // a reset is known to the system at once
      connection.fail();
      return;
    }
    const size_t room = link.down_max - std::min(link.down_max, link.down.size());
    const size_t size = std::min(room, connection.output().size());
    if (size == 0) {
      peer.waits_to_write = true;
      return;
    }
    link.down.append(connection.output().substr(0, size));
    link.unheard.append(connection.output().substr(0, size));
    connection.wrote(size);
  }
}

void LinkServer::end(Peer& peer) { of(peer).link->server_ended = true; }

}  // namespace parley::edge_sim
