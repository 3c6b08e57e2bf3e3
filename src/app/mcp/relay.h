// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/client/client.h"
#include "app/mcp/event_stream.h"
#include "app/mcp/message.h"
#include "net/client/fetch.h"

namespace parley::app {

// Carries JSON-RPC lines between a client on standard input and output and /mcp of a broker. Each
// message is a request of its own, and any number of them are under way at once. The relay knows
// what differs between the two eras of MCP. Since 2026-07-28: headers, and cancelling by hanging
// up. Before: the session, the stream of what the server says by itself, and going on after a
// broken stream. It keeps no state that matters: when the broker has forgotten the session, the
// relay begins another and replays the client's lines whose effect lasts as long as a session.
// These are also replayed whenever the stream broke, because a restarted broker has forgotten them.
// One thread: all of it happens in `run`.
class McpRelay {
 public:
  McpRelay(std::string agent, ClientOptions options);

  // Returns when standard input has ended and the requests before are answered, a second later at
  // most.
  void run();

 private:
  using Clock = std::chrono::steady_clock;

  // A request to the broker that is under way.
  struct PendingRequest {
    enum class Kind : uint8_t {
      request,  // of the client: it waits for an answer
      note,     // of the client: a notification, or its answer to the server
      listen,   // the stream of what the server says by itself, or the rest of a broken one
      replay,   // of our own: a line that the client sent in a session that is lost, or broke
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
  using PendingRequests = std::list<PendingRequest>;

  // What is known of the session with the broker, of the era that has sessions.
  struct RelayedSession {
    enum class Phase : uint8_t {
      steady,          // nothing is replayed
      replaying_new,   // a session began in place of one that the broker has forgotten
      replaying_same,  // the session goes on, but its stream broke
    };
    Phase phase = Phase::steady;
    std::string id;
    std::string version;
    std::string initialize_line;  // the client's
    // Lines whose effect lasts as long as the session, such as subscriptions, by what they are
    // about.
    std::map<std::string, std::string> lasting;
    std::vector<std::string> replay;  // lines that are still to be sent again, the next one last
    std::vector<std::pair<std::string, McpMessage>> parked;  // sent after the replay

    // The stream of what the server says by itself.
    bool listens = false;
    bool stream_broke = false;  // and the lasting lines were not replayed since
    std::string last_event_id;
    Clock::time_point listen_at = Clock::time_point::max();  // when it is asked for again
    std::chrono::milliseconds pause{0};                      // before that
  };
  using Phase = RelayedSession::Phase;

  struct Input {
    std::string text;         // what was read and is not a whole line yet
    bool skips_line = false;  // the rest of one that is too long
    bool is_at_end = false;
  };

  // Standard input.
  void read_input();
  void hang_up();
  void take_lines();
  void take(std::string line);
  bool cancel(const std::string& id);

  // To the broker.
  void send(PendingRequest::Kind kind, std::string line, McpMessage message,
            bool was_sent_before = false);
  void listen(const std::string& last_event_id, std::vector<std::string> waiting);
  std::optional<net::Fetch> start(std::string_view method, std::string_view body,
                                  const net::Headers& headers,
                                  const std::vector<std::string>& waiting);
  void remember(const std::string& line, const McpMessage& message);
  void begin_new_session();
  void replay_lasting();
  void replay_next();
  void notify_of_resources();
  void end_session();

  // From the broker.
  void advance(PendingRequests::iterator pending);
  void on_header(PendingRequest& pending);
  bool on_lost_session(PendingRequests::iterator pending);
  void on_end(PendingRequests::iterator pending, net::Fetch::State state);
  void on_listen_end(PendingRequest& pending);
  void on_replayed(bool worked);
  void deliver(PendingRequest& pending, const std::string& json);
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
  PendingRequests pending_;

  Input input_;
  bool is_broken_ = false;  // nobody reads standard output any more
  Clock::time_point last_moment_ = Clock::time_point::max();  // once the client has hung up
  std::string last_warning_;

  RelayedSession session_;
};

// `parley mcp`: lines of JSON-RPC on standard input and output, for a client that starts its
// servers itself; a thin client of a running broker's /mcp. Returns when standard input ends.
int run_mcp(const std::string& agent, const ClientOptions& options);

}  // namespace parley::app
