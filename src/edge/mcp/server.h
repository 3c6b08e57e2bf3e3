// SPDX-License-Identifier: Apache-2.0
// Over 150 lines: a method of the protocol is a line, and there are two eras of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "edge/mcp/limits.h"
#include "edge/mcp/notes.h"
#include "edge/mcp/records.h"
#include "edge/mcp/sessions.h"
#include "edge/mcp/streams.h"
#include "edge/mcp/subscriptions.h"
#include "edge/mcp/tally.h"
#include "edge/tools/catalog.h"
#include "edge/tools/offer.h"
#include "edge/waits.h"
#include "lib/crypto.h"
#include "net/server.h"

namespace parley::edge::mcp {

// What a Server needs of its surroundings: the API of a broker, or a test.
class Host {
 public:
  virtual ~Host() = default;

  // As in net::Server.
  virtual void respond(const net::Exchange& exchange, net::Response response) = 0;
  virtual void start_stream(const net::Exchange& exchange, const net::Response& head) = 0;
  virtual void send(net::ConnectionId connection, std::string_view bytes,
                    std::vector<net::Report> reports = {}) = 0;
  virtual bool has_room(net::ConnectionId connection) const = 0;
  virtual void close(net::ConnectionId connection) = 0;

  // Whether the principal's token is still good.
  virtual bool is_current(const Principal& principal) const = 0;
  // The principal waits, which is a sign of life.
  virtual void note_call(const Principal& principal) = 0;
  // For the figures: a call of a tool has ended so.
  enum class Outcome : uint8_t { done, failed, refused, cancelled };
  virtual void called(std::string_view tool, Outcome outcome) = 0;
};

// A Model Context Protocol server at one endpoint, of both eras: 2026-07-28, in which each request
// says all, and the older ones with their sessions. Knows the protocol and nothing of the broker:
// what it offers is given to it. On the thread of the net::Server.
class Server {
 public:
  struct Options {
    std::string version;  // of the program
    Limits limits;
    lib::SecretKey key = lib::random_key();  // the same after a restart: sessions go on
    std::unique_ptr<Notes> notes{};          // null: kept in memory only
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
  bool has_subscribers() const { return !subscriptions_.is_empty(); }
  // A list is another now: of tools, prompts or resources.
  void list_changed(Notice::Kind list);

  // For what is to be done later, on this thread.
  size_t sessions() const { return sessions_.size(); }
  size_t streams() const { return streams_.size(); }
  Waits& waits() { return waits_; }
  base::Time now() const { return clock_.now(); }

 private:
  friend class Run;

  struct Request {
    const net::Exchange& exchange;
    const net::Request& http;
    const Principal& principal;
  };

  // server.cc
  void post(const Request& request);
  void refuse(const net::Exchange& exchange, int status, const Fault& fault,
              std::string_view id = "null");
  void dispatch(Stream& stream, const Message& message, const Client& client, Version version);
  bool dispatch_list(Stream& stream, const Message& message, Version version);
  void call_tool(Stream& stream, const Message& message, const Client& client);
  void read_resource(Stream& stream, const Message& message, const Client& client);
  void get_prompt(Stream& stream, const Message& message, const Client& client);
  void complete(Stream& stream, const Message& message, const Client& client);
  std::string server_info() const;

  // modern.cc
  void post_modern(const Request& request, const Message& message);
  void listen(const Request& request, const Message& message);
  std::string modern_result(std::string_view id, std::string_view members,
                            std::string_view type = "complete") const;

  // legacy.cc
  void post_legacy(const Request& request, lib::Json body);
  std::optional<std::vector<Message>> read_messages(const Request& request, const Session& session,
                                                    lib::Json body);
  void initialize(const Request& request, const Message& message);
  void receive(Session& session, Stream* stream, const Message& message);
  void receive_response(Session& session, const Message& message);
  void subscribe(Session& session, Stream& stream, const Message& message);
  void get(const Request& request);
  Stream* open_own(const Request& request, Session& session);
  void open_old_transport(const Request& request);
  void resume(const Request& request, Session& session, std::string_view last_event);
  void delete_session(const Request& request);
  Session* find_session(const Request& request);
  Session* add_session(Session session);
  Session* revive(std::string_view id, const Principal& principal);
  void keep_note(const Session& session, bool is_ended = false);
  enum class Ending : uint8_t { for_good, may_return };
  void end_session(Session& session, Ending ending);

  // runs.cc
  void start(Stream& stream, const Message& message, const Client& client, const Act& act,
             std::string_view name, lib::Json arguments, std::string_view arguments_text);
  bool take_answers(Running& run, const Message& message, lib::Json arguments);
  void act(Running& run, lib::Json arguments);
  void finish(Running& run, Outgoing answer, int status, Host::Outcome outcome);
  void finish_result(Running& run, const Result& result);
  void finish_fault(Running& run, const Fault& fault);
  void refuse_ask(Running& run, const std::string& why, std::string_view required);
  void ask_modern(Running& run, const std::vector<Question>& questions, const std::string& state);
  Stream* stream_to_ask(const Running& run);
  void withdraw_questions(const Running& run);
  void ask_legacy(Running& run, const std::vector<Question>& questions, std::string state);
  std::string seal_context(const Running& run, lib::Json arguments) const;
  void cancel(Running& run);
  void drop(Running& run, Host::Outcome outcome);
  Running* find_run(uint64_t number);

  // answers.cc
  bool has_room(const Request& request, Stream::Kind kind, std::string_view id = "null");
  Stream& open(Stream::Kind kind, const Request& request, Session* session);
  void answer(Stream& stream, Outgoing answer, int status = 200);
  bool tell(Stream& stream, std::string_view text);
  void begin_events(Stream& stream);
  void start_events(const net::Exchange& exchange);
  void send_head(Stream& stream);
  void send_event(Stream& stream, const Outgoing& answer);
  static std::string event_id(const Stream& stream, const Session& session);
  std::unique_ptr<Stream> retire(Stream& stream);
  void end_stream(Stream& stream, int status);
  void hang_up(Stream& stream);
  void client_left(Stream& stream);
  Session* session_of(const Stream& stream) { return sessions_.find(stream.session); }
  bool notify(uint64_t subscriber, const Notice& notice);
  void sweep_streams(base::Time now);
  void sweep_sessions(base::Time now);
  void sweep_questions(base::Time now);

  Host& host_;
  base::Clock& clock_;
  Options options_;
  Catalog catalog_;
  lib::JsonDocument document_;  // of the request
  lib::JsonDocument again_;     // of arguments that were kept
  Waits waits_;
  base::Time next_sweep_{};
  uint64_t last_number_;  // of sessions, streams and runs
  std::unordered_map<uint64_t, std::unique_ptr<Running>> runs_;
  Tally run_counts_;
  Streams streams_;
  Sessions sessions_;
  Subscriptions subscriptions_;
  bool notices_due_ = false;  // something changed: perhaps some can be told now
};

}  // namespace parley::edge::mcp
