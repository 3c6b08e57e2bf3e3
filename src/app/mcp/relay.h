// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/client.h"
#include "app/mcp/event_stream.h"
#include "app/mcp/message.h"
#include "net/client/fetch.h"

namespace parley::app {

// Carries JSON-RPC lines between a client on standard input and output and /mcp of a broker, each
// message in a request of its own, any number of them at once. Knows of both eras what differs on
// the way: headers and cancelling by hanging up since 2026-07-28; before, the session, the stream
// of what the server says by itself, and going on behind a broken one. Keeps no state that matters:
// when the broker forgot the session, the relay begins another and says again what the client had
// said; what stays asked for also whenever the stream broke, since who broke it may have forgotten
// that. One thread; `run` is all of it.
class McpRelay {
 public:
  McpRelay(std::string agent, ClientOptions options);

  // Until standard input ends and what was asked before is answered, for a second at most.
  void run();

 private:
  using Clock = std::chrono::steady_clock;

  // A request to the broker that is under way.
  struct Flight {
    enum class Kind : uint8_t {
      request,  // of the client: it waits for an answer
      note,     // of the client: a notification, or its answer to the server
      listen,   // the stream of what the server says by itself, or the rest of a broken one
      renewal,  // of our own: begins the session again
    };
    Kind kind;
    net::Fetch fetch;
    std::string line;
    McpMessage message;
    std::vector<std::string> waiting;  // ids without an answer yet
    std::string session;               // in which it was sent
    bool was_sent_before = false;
    bool is_over = false;  // to be taken off the list
    bool has_header = false;
    bool is_stream = false;
    std::string body;  // of an answer that is no stream
    EventStream events;
    Clock::time_point until = Clock::time_point::max();
  };
  using Flights = std::list<Flight>;

  // Standard input.
  void read_input();
  void hang_up();
  void take_lines();
  void take(std::string line);
  bool cancel(const std::string& id);

  // To the broker.
  void send(Flight::Kind kind, std::string line, McpMessage message, bool was_sent_before = false);
  void listen(const std::string& behind, std::vector<std::string> waiting);
  std::optional<net::Fetch> start(std::string_view method, std::string_view body,
                                  const net::Headers& headers,
                                  const std::vector<std::string>& waiting);
  void remember(const std::string& line, const McpMessage& message);
  void renew();
  void repeat_standing();
  void renew_next();
  void tell_of_standing();
  void end_session();

  // From the broker.
  void advance(Flights::iterator flight);
  void on_header(Flight& flight);
  bool on_lost_session(Flights::iterator flight);
  void on_end(Flights::iterator flight, net::Fetch::State state);
  void on_listen_end(Flight& flight);
  void on_renewed(bool worked);
  void deliver(Flight& flight, const std::string& json);
  void refuse(const std::vector<std::string>& ids, const Failure& failure);

  void write(std::string line);
  void warn(const std::string& text);
  bool is_gated() const;
  bool is_idle() const;
  int timeout_ms() const;
  void wait();
  void act_on_time();

  std::string agent_;
  ClientOptions options_;
  Flights flights_;

  std::string input_;
  bool skips_line_ = false;  // the rest of one that is too long
  bool is_at_end_ = false;   // of standard input
  bool is_broken_ = false;   // nobody reads standard output any more
  Clock::time_point last_moment_ = Clock::time_point::max();  // once the client has hung up
  std::string last_warning_;

  // Of a session.
  std::string session_;
  std::string version_;
  std::string greeting_;                         // the client's initialize
  std::map<std::string, std::string> standing_;  // what it asked for as long as the session lasts
  bool listens_ = false;
  bool stream_broke_ = false;  // since what stays asked for was said last
  Clock::time_point listen_at_ = Clock::time_point::max();
  std::chrono::milliseconds pause_{0};
  std::string behind_;                // the last event of the stream
  std::vector<std::string> renewal_;  // lines to be said before the session is as it was
  bool is_renewing_ = false;
  bool is_new_session_ = false;  // rather than the same, whose stream broke
  std::vector<std::pair<std::string, McpMessage>> held_;  // sent again when it is
};

}  // namespace parley::app
