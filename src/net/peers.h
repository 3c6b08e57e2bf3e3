// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "net/connection/connection.h"
#include "net/server.h"

namespace parley::net {

// The connections of a server and the order of its turns, whatever their bytes go through: each
// server has that in a `Peer` of its own, and says how it is read and written.
class Peers : public Server {
 public:
  size_t connections() const override { return peers_.size(); }
  void post(std::function<void()> work) override;
  void respond(const Exchange& exchange, const Response& response) override;
  void start_stream(const Exchange& exchange, const Response& head) override;
  void accept_websocket(const Exchange& exchange, std::string_view protocol = {}) override;
  void send(ConnectionId connection, std::string_view bytes,
            std::vector<Report> reports = {}) override;
  size_t buffered(ConnectionId connection) const override;
  bool has_room(ConnectionId connection) const override;
  void close(ConnectionId connection, uint16_t code, std::string_view reason) override;

 protected:
  struct Peer {
    Peer(ConnectionId id, Surroundings& around) : connection(id, around) {}
    virtual ~Peer() = default;

    Connection connection;
    bool waits_to_read = false;
    bool waits_to_write = false;
    bool is_dirty = false;  // in dirty_
    bool is_dead = false;   // in dead_
    bool has_ended = false;
    bool is_cut = false;  // in cut_
  };

  Peers(const Limits& limits, Handler& handler);

  // Writes of the output what can be written now; marks what must wait.
  virtual void write(Peer& peer) = 0;
  // Ends our side: all that there was to write has left.
  virtual void end(Peer& peer) = 0;
  // From now on what comes in is read.
  virtual void wait_to_read(Peer& peer) = 0;
  // The same after a pause: bytes that came in before may be at hand without a further event.
  virtual void read_on(Peer& peer) { wait_to_read(peer); }
  // Whether writing, or dropping dead connections, has taken so long that the rest is left to the
  // next turn.
  virtual bool is_too_long(Time /*began*/) const { return false; }
  virtual Time time_of_work() const { return {}; }

  ConnectionId next_id() { return ++last_id_; }
  Peer& add(std::unique_ptr<Peer> peer);
  Peer* find(ConnectionId id) const;

  // The turn from where all that came in was read. Returns when the next one is due.
  Time work();
  bool is_idle() const { return dirty_.empty() && dead_.empty() && cut_.empty(); }
  // Goes on with the connections for which the turn before was too short, in their order.
  void resume_cut();
  // After bytes were fed: remembers the connection if the turn was too short for all of them.
  void mark_cut(Peer& peer);
  // When the times of all connections are checked next.
  Time next_sweep() const { return next_sweep_; }
  void sweep();
  void reap();
  void flush();
  void mark_dirty(Peer& peer);
  void close_all(uint16_t code, std::string_view reason);
  void fail_all();

  Surroundings around_;

 private:
  void run_posted();
  void flush(Peer& peer);
  void mark_dead(Peer& peer);
  // Calls `act` with the connection, if it is there, and marks it as one that may have something to
  // write.
  template <class Act>
  void with(ConnectionId id, const Act& act);

  std::unordered_map<ConnectionId, std::unique_ptr<Peer>> peers_;
  ConnectionId last_id_ = 0;
  std::vector<ConnectionId> dirty_;  // have something to write, or have ended
  std::vector<ConnectionId> dead_;   // to be dropped
  std::vector<ConnectionId> cut_;    // have more to be read than the turn had time for
  Duration sweep_interval_;
  Time next_sweep_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // under mutex_
};

}  // namespace parley::net
