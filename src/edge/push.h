// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string_view>

#include "edge/api.h"

namespace parley::edge {

// One connection that messages are pushed to: server-sent events, or a WebSocket, which also takes
// operations. Renders a message only when the socket has room, so that a slow reader costs no
// memory beyond the places of its messages.
class Push final : public node::Receiver {
 public:
  enum class Kind : uint8_t { events, websocket };

  Push(Api& api, net::ConnectionId connection, Principal owner, core::Dialect dialect, Kind kind);

  // Opens the stream in the machine. `after`: what was pushed to this agent before, up to this
  // place, is not pushed again on this connection; it is still held for its acks.
  void open(uint32_t window, base::Seq after);
  void close();

  void on_message(std::string_view text);
  void on_drained();

  void deliver(const core::Deliver& delivery, const core::Envelope* envelope) override;
  void stream_closed() override;

 private:
  struct Waiting {
    base::Seq message;
    uint32_t attempt;
  };
  class Batch;

  bool is_welcome();
  void append_sent(base::Seq seq, bool skipped);
  void push_waiting();
  void push(const Waiting& waiting, const core::Envelope* envelope);
  bool render(base::Seq message, const core::Envelope* envelope);
  void operation(lib::Json op);
  void op_send(lib::Json op, std::string_view ref);
  std::expected<core::Target, base::Error> target_in(lib::Json id) const;
  void op_settle(lib::Json op, std::string_view ref, std::string_view name);
  void op_heartbeat(lib::Json op, std::string_view ref);
  void op_subscribe(lib::Json op, std::string_view ref, bool subscribe);
  enum class Answered : uint8_t { always, if_asked };  // what was done: also without a ref
  node::Broker::Done answer_to(std::string_view ref, Answered when);
  void reply(std::string_view ref, const core::Outcome& outcome);
  void reply_error(std::string_view ref, const base::Error& error);
  void send_text(std::string_view text);

  Api& api_;
  net::ConnectionId connection_;
  Principal owner_;
  Kind kind_;
  core::Dialect dialect_;  // its owner's, unless it asked for another
  core::StreamId stream_;
  base::Seq after_;
  std::deque<Waiting> waiting_;
  std::string text_;  // the frame being made; its memory serves again
};

}  // namespace parley::edge
