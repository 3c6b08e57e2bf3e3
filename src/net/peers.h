// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "net/peer_table.h"
#include "net/posted_work.h"
#include "net/server.h"

namespace parley::net {

// A server with its connections, and the order of its turns, whatever the bytes go through: each
// kind of server has that in a `Peer` of its own, and says how it is read and written.
class Peers : public Server {
 public:
  size_t connections() const override { return peers_.size(); }
  Account held_by(CallerId caller) const override { return around_.accounts.of(caller); }
  std::optional<Error> begin_wait(CallerId caller, ConnectionId connection) override {
    return around_.accounts.begin_wait(around_.limits, caller, connection);
  }
  void end_wait(CallerId caller, ConnectionId connection) override {
    around_.accounts.end_wait(caller, connection);
  }
  void post(std::function<void()> work) override { posted_.post(std::move(work)); }
  void respond(const Exchange& exchange, const Response& response) override;
  void start_stream(const Exchange& exchange, const Response& head) override;
  void accept_websocket(const Exchange& exchange, std::string_view protocol = {}) override;
  void send(ConnectionId connection, std::string_view bytes,
            std::vector<Report> reports = {}) override;
  size_t buffered(ConnectionId connection) const override;
  bool has_room(ConnectionId connection) const override;
  void close(ConnectionId connection, uint16_t code, std::string_view reason) override;

 protected:
  using Peer = PeerTable::Peer;

  Peers(const Limits& limits, Handler& handler);

  // Writes of the output what can be written now; marks what must wait.
  virtual void write(Peer& peer) = 0;
  // Ends our side: all that there was to write has left.
  virtual void end(Peer& peer) = 0;
  // Whether the peer has ended its side, or is gone; asked where nothing is read of it.
  virtual bool has_left(Peer& /*peer*/) { return false; }
  // From now on what comes in is read.
  virtual void wait_to_read(Peer& peer) = 0;
  // The same after a pause: bytes that came in before may be at hand without a further event.
  virtual void read_on(Peer& peer) { wait_to_read(peer); }
  // Whether writing, or dropping dead connections, has taken so long that the rest is left to the
  // next turn.
  virtual bool is_too_long(Time /*began*/) const { return false; }
  virtual Time time_of_work() const { return {}; }

  // The turn from where all that came in was read. Returns when the next one is due.
  Time work();
  // Goes on with a connection that had more bytes than its time was enough for.
  void resume(Peer& peer);
  // Whether there is a place for one more connection; makes one, if need be, of the connection
  // that has been silent for longest of those whose caller is not known.
  bool make_room();
  // Whether the next turn has nothing to do.
  bool is_idle() const { return peers_.is_idle() && !posted_.has_left(); }
  // When the times of all connections are checked next.
  Time next_sweep() const { return next_sweep_; }
  void reap();
  void flush();
  void close_all(uint16_t code, std::string_view reason);
  void fail_all();

  Surroundings around_;
  PeerTable peers_;

 private:
  void sweep();
  void flush(Peer& peer);
  // Calls `act` with the connection, if it is there, and marks it as one that may have something to
  // write.
  template <class Act>
  void with(ConnectionId id, const Act& act);

  Duration sweep_interval_;
  Time next_sweep_;
  PostedWork posted_;
};

}  // namespace parley::net
