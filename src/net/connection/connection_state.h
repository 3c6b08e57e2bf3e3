// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "net/connection/accounts.h"
#include "net/connection/answer_queue.h"
#include "net/connection/holdings.h"
#include "net/connection/output_buffer.h"
#include "net/server.h"

namespace parley::net {

// What all connections of a server share. `now` counts from any moment, by a clock nobody sets.
struct Surroundings {
  Server::Limits limits;
  Handler* handler = nullptr;
  Time now;
  std::string date;  // for the Date header
  Accounts accounts{};
  // Ends the reading of a connection: what else came in is left to a later time. Empty: all is
  // read.
  std::function<bool()> turn_is_over{};
};

// open: takes requests or messages. closing: takes nothing more; once the output has left, the
// server ends its side, and waits for the peer to end its own. dead: to be dropped at once.
enum class ConnectionPhase : uint8_t { open, closing, dead };

// What both protocols of a connection use: its output, the account of its caller, its times. A part
// of Connection, which has one.
struct ConnectionState {
  // The time that a peer has to end its side after we have ended ours.
  static constexpr Duration linger = base::seconds(2);

  ConnectionState(ConnectionId number, Surroundings& shared)
      : id(number), around(shared), active(shared.now), progress(shared.now) {}

  size_t buffered() const { return output.size() + answers.queued_bytes(); }
  // So much waits to be written that nothing more is read.
  bool is_full() const { return buffered() > held.output_max(); }

  // Appends behind all answers. From the mark on the handler is to hold back.
  template <class Append>
  void append_last(const Append& append) {
    answers.append_last(append);
    over_mark = over_mark || is_full();
  }

  void begin_closing() {
    phase = ConnectionPhase::closing;
    closing_since = around.now;
    answers.clear();
  }

  ConnectionId id;
  Surroundings& around;
  ConnectionPhase phase = ConnectionPhase::open;
  bool over_mark = false;        // above `buffered_max`, and not yet below half of it
  bool request_pending = false;  // a part of a request or message is there, since:
  Time request_began;
  Time active;    // bytes came in, or the last answer left
  Time progress;  // the output was empty or became shorter
  Time closing_since;
  Time trimmed;  // memory that was not used was given back
  OutputBuffer output;
  AnswerQueue answers{output, around.limits.pipelined_max};
  Holdings held{around, id};
};

}  // namespace parley::net
