// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "net/write_report.h"

namespace parley::net {

using base::Duration;
using base::Error;
using base::Time;

// Over 150 lines: a server and its handler call each other, so their contract is one page.

// One accepted socket; never used again for another.
using ConnectionId = uint64_t;

// The number that the handler gives a caller; 0: a caller who is not known.
using CallerId = uint64_t;

// What one caller holds of the server now.
struct Account {
  size_t connections = 0;
  size_t unfinished_bytes = 0;  // of requests and messages that are not whole
  size_t unread_bytes = 0;      // of output that waits to be written
  size_t waits = 0;             // calls that wait for mail, an answer or a lock

  bool operator==(const Account&) const = default;
};

// One request on a connection, until it is answered. Pipelined requests are answered in any order;
// the answers leave in the order of the requests.
struct Exchange {
  ConnectionId connection = 0;
  uint64_t number = 0;

  auto operator<=>(const Exchange&) const = default;
};

// A whole request. The views are good only during the call.
struct Request {
  std::string_view method;
  std::string_view path;   // still percent-encoded, so that its segments can be told apart
  std::string_view query;  // without the `?`
  std::string_view body;
  bool wants_websocket = false;  // a valid upgrade request

  // The value of a header, by its lower-case name; empty when it is not there.
  std::function<std::string_view(std::string_view name)> header;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<Report> reports{};  // told when it was written, or lost
};

// How long a turn of the loop took, from when there was something to do.
struct Turn {
  Duration took;
  Duration cpu;  // processor time
};

// What a server calls, all on its thread. It may call the server back from within.
class Handler {
 public:
  virtual ~Handler() = default;

  // The head of a request; its body is empty. Returns the caller. The body of a caller who is not
  // known stays unread: `on_request` follows without it, and the connection ends with the answer.
  // The bytes that the server holds are bounded for all unknown callers together, and for each
  // known one. Called again while the body comes in: another caller then counts as not known.
  virtual CallerId on_head(const Request& head) = 0;
  // A whole request. Answer it by `respond`, `start_stream` or `accept_websocket`, now or later.
  virtual void on_request(const Exchange& exchange, const Request& request) = 0;
  // A whole message of a WebSocket; text is valid UTF-8. The view is good only during the call.
  virtual void on_message(ConnectionId connection, std::string_view text) = 0;
  // The connection is gone, however it ended. Nothing more comes of it. Only for connections of
  // which a request was seen; never from within a call of the server.
  virtual void on_closed(ConnectionId connection) = 0;
  // A stream or WebSocket has room again: its output has shrunk to half of `buffered_max`.
  virtual void on_drained(ConnectionId connection) = 0;
  // Once per turn of the loop, after all ready sockets were read: do the work, answer. Returns
  // when the next turn is due even if nothing comes in. Turns also come without need, at least
  // one a second.
  virtual Time on_turn() = 0;
  // Whether `on_turn` had too little time for its work: then nothing is read until it has caught
  // up.
  virtual bool is_behind() const { return false; }
  // At the end of each turn, after writing.
  virtual void on_turn_ended(const Turn& /*turn*/) {}
  // How a client is told what is wrong with its request, where the server refuses it itself. The
  // status is that of the code. Unless the handler has a form for it: the detail as plain text.
  virtual Response problem(const Error& error);
};

// What a handler calls: an HTTP/1.1 and WebSocket server on one thread, over sockets
// (socket_server.h) or in a simulation. Each turn reads what has come in, calls `on_turn`, then
// writes each connection's answers as one buffer. What is wrong with a request at this level
// (malformed, too large, too slow, a version it does not speak) is answered here, as the handler's
// `problem` says it, and the connection closed. Everything but `post` is called on the server's
// thread.
class Server {
 public:
  struct Limits {
    // One more takes the place of the one that was silent for longest of those whose caller is not
    // known; where all are known it is answered 503. Less when the process may not have as many
    // descriptors; the server raises that limit as far as it may.
    size_t connections_max = 10'000;
    size_t header_bytes_max = 16 * 1024;
    size_t body_bytes_max = 2 * 1024 * 1024;
    size_t message_bytes_max = 2 * 1024 * 1024;  // of a WebSocket
    size_t pipelined_max = 1'024;                // unanswered requests; then reading pauses
    size_t buffered_max =
        1024 * 1024;  // bytes of output of one connection; then reading pauses too
    // Bytes of input and output held for all connections together whose caller is not known. Beyond
    // it a connection that holds more than an even share is refused.
    size_t unauthenticated_bytes_max = 32 * 1024 * 1024;
    // Bytes held of one caller's requests and messages that are not whole, on all its connections.
    // Beyond it the request that grows is refused; a caller that sends one at a time is never
    // refused.
    size_t unfinished_bytes_per_principal_max = 16 * 1024 * 1024;
    // Output that waits on all connections of one caller. Beyond it a connection that holds more
    // than an even share of it is read no further, and gets no large answer.
    size_t unread_bytes_per_principal_max = 32 * 1024 * 1024;
    size_t connections_per_principal_max = 512;  // one more is answered 429
    size_t waits_per_principal_max = 256;        // see Account; one more is answered 429
    size_t waits_per_connection_max = 64;
    // From the first byte to the last of a request, and from the connection to its first request.
    Duration request_timeout = base::seconds(30);
    Duration idle_timeout = base::minutes(5);    // between requests, or while a peer reads nothing
    Duration ping_interval = base::seconds(30);  // of a WebSocket; two unanswered end it
  };

  virtual ~Server() = default;

  virtual size_t connections() const = 0;
  // What callers hold; and where the handler says that a call waits.
  virtual Account held_by(CallerId caller) const = 0;
  virtual std::optional<Error> begin_wait(CallerId caller, ConnectionId connection) = 0;
  virtual void end_wait(CallerId caller, ConnectionId connection) = 0;
  // From any thread: runs `work` on the server's thread, in the next turn, before its `on_turn`; in
  // a later one when very much was posted before.
  virtual void post(std::function<void()> work) = 0;

  // The answer to an exchange; ignored when the connection is gone. A client that ends its side
  // early gets what is answered within the turn; after that it counts as gone.
  virtual void respond(const Exchange& exchange, const Response& response) = 0;
  // Answers with a body that has no end (text/event-stream): more of it follows by `send`. Requests
  // behind it on the connection are dropped. To HEAD it is a whole answer.
  virtual void start_stream(const Exchange& exchange, const Response& head) = 0;
  // Answers the upgrade, with the subprotocol if there is one: from here on the connection is a
  // WebSocket. A request that wants none is answered 426.
  virtual void accept_websocket(const Exchange& exchange, std::string_view protocol = {}) = 0;
  // A text message on a WebSocket, in UTF-8, or the next part of a stream. Leaves when the turn
  // ends.
  virtual void send(ConnectionId connection, std::string_view bytes,
                    std::vector<Report> reports = {}) = 0;
  // Bytes of the connection that wait to be written.
  virtual size_t buffered(ConnectionId connection) const = 0;
  // False from when `buffered` is above `buffered_max` until `on_drained`: hold back. What is sent
  // while it is above twice that closes the connection.
  virtual bool has_room(ConnectionId connection) const = 0;
  // Closes it after what is buffered has left; for a WebSocket with this code and reason.
  virtual void close(ConnectionId connection, uint16_t code, std::string_view reason) = 0;
};

}  // namespace parley::net
