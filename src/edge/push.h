// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "edge/api/call.h"
#include "edge/marks.h"
#include "edge/operations.h"
#include "edge/render.h"

namespace parley::edge {

// One connection that messages are pushed to: server-sent events, or a WebSocket, which also takes
// operations. Renders a message only when the socket has room, so that a slow reader costs no
// memory beyond the places of its messages.
class Push final : public node::Receiver {
 public:
  enum class Kind : uint8_t { events, websocket };

  Push(Context& context, net::ConnectionId connection, Principal owner, core::Dialect dialect,
       Kind kind);
  Push(const Push&) = delete;
  Push& operator=(const Push&) = delete;

  // Answers the request that asked for it: from now on messages come.
  void begin(const net::Exchange& exchange);
  // Its stream in the machine; `after` is what the client saw of a former one.
  void set_stream(const core::StreamId& stream, const core::ResumeMark& after) {
    place_.stream = stream;
    place_.after = after;
  }
  void close();

  void on_message(std::string_view text);
  // Pushes what waits, as far as there is room. The first `looked_for` of them were read from the
  // journal just now, as far as that was possible: what is not in memory is not waited for again.
  void push_waiting(size_t looked_for = 0);
  // What was posted, or read for it, is there now.
  void end_post() { is_posted_ = false; }
  void end_warming() { is_warming_ = false; }
  // Of a WebSocket; they find their way back here to answer.
  Operations& operations() { return operations_; }

  void deliver(const core::Deliver& delivery, const core::Envelope* envelope) override;
  void stream_closed() override;

 private:
  struct Waiting {
    base::Seq message;
    uint32_t attempt;
    core::ResumeMark mark;
    core::DeliveryRef delivery;
  };

  bool is_welcome();
  void push_later();
  bool is_held(const Waiting& waiting) const;
  void warm_up();
  void push(const Waiting& waiting, const core::Envelope* envelope);
  bool render(const Waiting& waiting, const core::Envelope* envelope);
  void give_back(base::Seq message);
  const core::Tables& tables() const;
  void send_text(std::string_view text);

  Context& context_;
  net::ConnectionId connection_;
  Principal owner_;
  Kind kind_;
  core::Dialect dialect_;  // its owner's, unless it asked for another
  StreamPlace place_;
  Operations operations_;
  std::deque<Waiting> waiting_;
  bool is_warming_ = false;     // the first of them are being read
  bool is_posted_ = false;      // some of them are pushed in the next turn
  base::Seq newest_entry_;      // that handed something out
  size_t pushed_of_entry_ = 0;  // messages of that entry that did not wait for the next turn
  std::string text_;            // the frame being made; its memory serves again
};

// All of them, each by its connection.
class Pushes {
 public:
  explicit Pushes(Context& context) : context_(context) {}

  // Opens one on the connection of the call, as its parameters say, or refuses. The request is
  // answered when the stream is open, or was refused.
  void open(const Call& call, Push::Kind kind);
  // Null when its client is gone.
  Push* find(net::ConnectionId connection);

  void on_message(net::ConnectionId connection, std::string_view text);
  void on_drained(net::ConnectionId connection);
  void on_closed(net::ConnectionId connection);

  // The message that was rendered last, for whichever of them.
  Rendered rendered;

 private:
  void start(const Call& call, std::unique_ptr<Push> push, const node::Broker::Opening& opening);
  void on_opened(const net::Exchange& exchange, const core::Outcome& outcome);

  Context& context_;
  std::unordered_map<net::ConnectionId, std::unique_ptr<Push>> pushes_;
};

}  // namespace parley::edge
