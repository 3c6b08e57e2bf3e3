// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "edge/mcp/offer.h"
#include "edge/waits.h"
#include "net/server.h"

namespace parley::edge::mcp {

// What a Server needs of its surroundings: the API of a broker, or a test.
class Host {
 public:
  virtual ~Host() = default;

  // As in net::Server.
  virtual void respond(const net::Exchange& exchange, net::Response response) = 0;
  virtual void start_stream(const net::Exchange& exchange, const net::Response& head) = 0;
  virtual void send(net::ConnectionId connection, std::string_view bytes) = 0;
  virtual bool has_room(net::ConnectionId connection) const = 0;
  virtual void close(net::ConnectionId connection) = 0;

  // Whether the principal's token is still good.
  virtual bool is_current(const Principal& principal) const = 0;
  // The principal waits, which is a sign of life.
  virtual void note_call(const Principal& principal) = 0;
};

// Reaching one is a coded outcome; docs/mcp.md says which.
struct Limits {
  uint64_t sessions_per_principal_max = 64;  // one more ends the one that was idle for longest
  uint64_t sessions_max = 10'000;
  uint64_t streams_per_principal_max = 64;  // open at a time, of either era
  uint64_t runs_per_principal_max = 256;    // calls that are not answered yet
  uint64_t subscriptions_max = 256;         // resources of one session or one listening stream
  uint64_t questions_max = 8;               // to the client, at a time
  uint64_t batch_max = 100;                 // messages in one array
  uint64_t kept_events_max = 256;           // of one session, for a client that comes back
  uint64_t kept_bytes_max = 256 * 1024;
  base::Duration session_idle = base::minutes(60);
  base::Duration state_ttl = base::minutes(60);       // of a question to the client
  base::Duration stream_after = base::seconds(1);     // a call that takes longer answers by events
  base::Duration keep_alive = base::seconds(15);      // between comments on a silent stream
};

// A Model Context Protocol server at one endpoint, of both eras: 2026-07-28, in which each request
// says all, and the older ones with their sessions. Knows the protocol and nothing of the broker:
// what it offers is given to it. On the thread of the net::Server.
class Server {
 public:
  struct Options {
    std::string version;  // of the program
    Limits limits;
  };
  Server(Host& host, base::Clock& clock, Options options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Adds what is offered, behind what is offered already. Before the first request.
  void add(Offer offer);

  // A request of an authenticated principal to the endpoint, by any method.
  void on_request(const net::Exchange& exchange, const net::Request& request,
                  const Principal& principal);
  void on_closed(net::ConnectionId connection);
  void on_drained(net::ConnectionId connection);
  // Once per turn: tells what changed, ends what is over. Returns when it wants the next turn.
  base::Time on_turn(base::Time now);

  // A resource changed, for one agent or (empty) all of the workspace. Cheap where no one
  // subscribes; several changes within a turn are told once.
  void updated(core::WorkspaceId workspace, std::string_view agent, std::string_view uri);
  // Whether anyone subscribes at all: to spare the making of URIs.
  bool has_subscribers() const;
  enum class List : uint8_t { tools, prompts, resources };
  void list_changed(List list);

  // For what is to be done later, on this thread.
  Waits& waits();
  base::Time now() const;

 private:
  friend class Run;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace parley::edge::mcp
