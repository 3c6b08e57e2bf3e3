// SPDX-License-Identifier: Apache-2.0
// Over 150 lines: both protocols of a connection share its buffers, its times and its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "net/http.h"
#include "net/server.h"
#include "net/websocket.h"

namespace parley::net {

// Over 150 lines: one protocol, and what it must remember of its peer.
// What all connections of a server share. `now` counts from any moment, by a clock nobody sets.
struct Surroundings {
  Server::Limits limits;
  Handler* handler = nullptr;
  Time now;
  std::string date;                  // for the Date header
  size_t unauthenticated_bytes = 0;  // held for connections whose caller is not known
  // Of each caller who is: what is held of that which is not whole. No entry: nothing.
  std::unordered_map<CallerId, size_t> unfinished_bytes{};
  // Ends the reading of a turn: what else came in is left to the next one. Empty: all is read.
  std::function<bool()> turn_is_over{};
};

// The protocol of one connection, HTTP and then perhaps WebSocket, without its socket: bytes come
// in by `feed` and lie in `output` until the server has written them. So it is tested and fuzzed
// without a network. Calls the handler only from `feed`, `resume`, `wrote` and `tick`.
class Connection {
 public:
  // open: takes requests or messages. closing: takes nothing more; once the output has left, the
  // server ends its side, and waits for the peer to end its own. dead: to be dropped at once.
  enum class Phase : uint8_t { open, closing, dead };

  // The time that a peer has to end its side after we have ended ours.
  static constexpr Duration linger = base::seconds(2);

  Connection(ConnectionId id, Surroundings& around);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ConnectionId id() const { return id_; }
  Phase phase() const { return phase_; }
  // The handler knows of it, and must hear of its end.
  bool is_known() const { return number_ > 0; }

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
  void input_ended();

  std::string_view output() const { return std::string_view(out_).substr(out_at_); }
  // The first `size` bytes of the output have left.
  void wrote(size_t size);
  // The socket failed.
  void fail() { phase_ = Phase::dead; }
  // The turn is over, and what could be written was.
  void end_of_turn();
  // Nothing more will be written: the server may end its side.
  bool output_ended() const;

  // As in Server.
  void respond(uint64_t number, const Response& response);
  void start_stream(uint64_t number, const Response& head);
  void accept_websocket(uint64_t number, std::string_view protocol);
  void send(std::string_view bytes, std::vector<Report> reports = {});
  size_t buffered() const { return out_.size() - out_at_ + queued_bytes_; }
  bool has_room() const { return !over_mark_; }
  void close(uint16_t code, std::string_view reason);

  // Answers in place of the next request, behind the others, and closes.
  void refuse(const Error& error);
  // Checks the times and gives back memory that is not used. Called now and then.
  void tick();

 private:
  enum class Mode : uint8_t { http, stream, websocket };

  // A request that is not answered yet, or whose answer waits for those before it.
  struct Slot {
    std::string bytes;  // the answer, while it waits
    std::vector<Report> reports{};
    bool is_answered = false;
    bool is_upgrade = false;
    Framing framing;
  };

  // Takes from the front of the bytes what can be used now; false when nothing more can be.
  bool take(std::span<char>& bytes);
  bool take_request(std::span<char>& bytes);
  bool take_frame(std::span<char>& bytes);
  Request request() const;
  void head_complete(bool is_all);
  void request_complete();
  void send_continue();
  bool is_paused() const;
  // Counts what is held for the caller: all of it for one who is not known, else what is not whole.
  void weigh();
  size_t held_bytes() const;
  // Adds to or takes from what is held for the caller that `weight_` is counted for.
  void count(size_t held);
  // Whether so much more may be held for a caller who is not known.
  bool may_hold(size_t more);
  // Whether what is held for a caller who is known may be.
  bool is_within_share();
  // Over the limit: says so, and drops what is not whole.
  void refuse_to_hold();
  // The caller may have ceased to be one while the body came in.
  void check_caller();
  bool caller_known() const { return caller_ != 0; }

  size_t waiting() const { return slots_.size() - slots_at_; }
  // The slot of a request that is not answered yet; nullptr when there is none.
  Slot* find(uint64_t number);
  // Where the answer to this slot goes: to the output, when it is its turn.
  std::string& sink(Slot& slot) { return &slot == &slots_[slots_at_] ? out_ : slot.bytes; }
  // The answer was written to the slot's sink; moves all answers to the output whose turn it is.
  void answered(Slot& slot);
  void release();
  // To be told when all that is in the output now has left.
  void add_reports(std::vector<Report>& reports);
  void tell_written();
  // Appends to what goes behind all answers: more of a stream, or frames.
  template <class Append>
  void append_last(const Append& append);
  void append_close(uint16_t code, std::string_view reason);
  void begin_closing();
  void tick_open();
  void ping();
  void trim();

  ConnectionId id_;
  Surroundings& around_;
  Phase phase_ = Phase::open;
  Mode mode_ = Mode::http;
  bool ended_ = false;  // the peer has ended its side
  bool stream_is_chunked_ = false;
  bool continue_due_ = false;  // `100 Continue` waits for the answers before it
  bool close_sent_ = false;       // a close frame is in the output
  bool close_received_ = false;   // or nothing behind it can be understood
  bool close_is_mutual_ = false;  // both sides sent a close frame
  bool last_request_ = false;     // nothing may follow the request that was read last
  bool head_heard_ = false;       // the handler heard the head of the request that is being read
  bool over_mark_ = false;
  bool cut_short_ = false;
  uint8_t pings_unanswered_ = 0;

  RequestParser parser_;
  std::optional<FrameReader> frames_;
  std::string kept_, out_;
  size_t out_at_ = 0;  // what is before it has left
  uint64_t written_ = 0;  // bytes of the output, since the connection began
  std::deque<std::pair<uint64_t, Report>> reports_;  // each is due when `written_` is its number
  std::vector<Slot> slots_;
  size_t slots_at_ = 0;           // what is before it is answered
  size_t queued_bytes_ = 0;       // of all slots
  CallerId caller_ = 0;           // of the newest request
  CallerId counted_for_ = 0;      // whose account has
  size_t weight_ = 0;             // so many bytes of this connection
  uint64_t number_ = 0;           // of the last request
  uint64_t first_ = 1;            // number of the request at slots_at_
  std::string accept_;            // Sec-WebSocket-Accept of the upgrade that waits
  bool request_pending_ = false;  // a part of a request or message is there, since:
  Time request_began_;
  Time active_;    // bytes came in, or the last answer left
  Time trimmed_;   // room that was not used was given back
  Time progress_;  // the output was empty or became shorter
  Time pinged_;
  Time closing_since_;
};

}  // namespace parley::net
