// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "base/time.h"
#include "net/peers.h"
#include "sim/edge/byte_pipe.h"
#include "sim/random.h"

namespace parley::edge_sim {

using base::Time;

// A server whose connections are links: the real protocol of each, no socket. Reads cut the bytes
// anywhere, and a turn does all that there is to do. Where it is busy, requests and writes take a
// part of the turn each, and what is more is for later turns, as in net/socket_server.cc: the
// callers take turns.
class PipeServer final : public net::Peers {
 public:
  PipeServer(const Limits& limits, net::Handler& handler, base::Clock& clock, sim::Random& random,
             bool is_busy = false);

  void connect(std::shared_ptr<BytePipe> pipe);
  // Reads some of what came in, works, writes what fits. Returns when the next turn is due.
  Time turn();
  // A turn would read, write or drop something.
  bool has_work() const;
  // Bytes that wait in all connections.
  size_t buffered_bytes() const;

 private:
  struct PipePeer final : Peer {
    PipePeer(net::ConnectionId id, net::Surroundings& around, std::shared_ptr<BytePipe> made)
        : Peer(id, around), pipe(std::move(made)) {}
    ~PipePeer() override { pipe->server_gone = true; }

    std::shared_ptr<BytePipe> pipe;
  };
  static PipePeer& of(Peer& peer) { return static_cast<PipePeer&>(peer); }

  void write(Peer& peer) override;
  void end(Peer& peer) override;
  void wait_to_read(Peer& peer) override { peer.waits_to_read = true; }
  bool is_too_long(Time began) const override;
  Time time_of_work() const override { return worked_; }
  void read(Peer& peer, BytePipe& pipe);
  // Reads one, or goes on with what was read of it.
  void serve(Peer& peer);
  void update_time();

  base::Clock& clock_;
  sim::Random& random_;
  const bool is_busy_;
  Time worked_;       // The work of all turns, where it is busy.
  Time began_;        // The same when the turn began,
  Time slice_began_;  // and when it went on to the connection that is read now.
  std::map<net::ConnectionId, std::shared_ptr<BytePipe>> pipes_;
};

}  // namespace parley::edge_sim
