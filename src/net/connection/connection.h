// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/connection/connection_state.h"
#include "net/connection/http_protocol.h"
#include "net/connection/websocket_protocol.h"

namespace parley::net {

// The protocol of one connection, HTTP and then perhaps WebSocket, without its socket: bytes come
// in by `feed` and lie in `output` until the server has written them. So it is tested and fuzzed
// without a network. Calls the handler only from `feed`, `resume`, `wrote` and `tick`.
class Connection {
 public:
  using Phase = ConnectionPhase;

  Connection(ConnectionId id, Surroundings& around) : state_(id, around), http_(state_) {}

  ConnectionId id() const { return state_.id; }
  Phase phase() const { return state_.phase; }
  // Connections of one line are served one after the other, lines in turn. Each caller has one; so
  // have all strangers, and all of whom no request was seen yet.
  uint64_t line() const;
  // The handler knows of it, and must hear of its end.
  bool is_known() const { return http_.requests() > 0; }

  // Bytes that came in, behind those that `kept` still has: they must be put in front again. May
  // change the bytes. What cannot be used yet is kept.
  void feed(std::span<char> bytes);
  const std::string& kept() const { return kept_; }
  // Goes on with what was kept while the connection was paused, or when the turn was over.
  void resume();
  // The turn was over before all of what is kept was looked at: to be resumed in the next one.
  bool is_cut_short() const { return cut_short_; }
  // Whether it takes bytes now. It does not while too much waits for the peer or the handler.
  bool wants_input() const;
  // The peer has ended its side. What is answered within this turn still leaves.
  void input_ended() { ended_ = true; }

  std::string_view output() const { return state_.output.unwritten(); }
  // The first `size` bytes of the output have left.
  void wrote(size_t size);
  // The socket failed.
  void fail() { state_.phase = Phase::dead; }
  // The turn is over, and what could be written was.
  void end_of_turn();
  // Nothing more will be written: the server may end its side.
  bool output_ended() const;

  // As in Server.
  void respond(uint64_t number, const Response& response);
  void start_stream(uint64_t number, const Response& head);
  void accept_websocket(uint64_t number, std::string_view protocol);
  void send(std::string_view bytes, std::vector<Report> reports = {});
  size_t buffered() const { return state_.buffered(); }
  bool has_room() const { return !state_.over_mark; }
  void close(uint16_t code, std::string_view reason);

  // Nothing is read of it, and nothing is to be written to it: it waits for the handler alone, and
  // does not find out by itself that the peer is gone.
  bool is_deaf() const { return phase() == Phase::open && is_paused() && output().empty(); }
  // Answers in place of the next request, behind the others, and closes.
  void refuse(const Error& error) { http_.refuse(error); }
  // Checks the times and gives back memory that is not used. Called now and then.
  void tick();

 private:
  enum class Mode : uint8_t { http, stream, websocket };

  // Takes from the front of the bytes what can be used now; false when nothing more can be.
  bool take(std::span<char>& bytes);
  bool is_paused() const;
  // Brings the account of the caller up to date.
  void count_held();
  // Over the limit: says so, and drops what is not whole.
  void refuse_to_hold();
  void tick_open();
  void check_times();
  void trim();

  ConnectionState state_;
  HttpProtocol http_;
  std::optional<WebSocketProtocol> websocket_;
  Mode mode_ = Mode::http;
  bool ended_ = false;  // the peer has ended its side
  bool cut_short_ = false;
  std::string kept_;  // bytes that came in and could not be used yet
};

}  // namespace parley::net
