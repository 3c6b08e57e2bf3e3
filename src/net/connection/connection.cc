// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connection.h"

#include <algorithm>
#include <utility>

namespace parley::net {

namespace {

constexpr Duration trim_after = base::seconds(1);
// Of a buffer for answers that is kept for the next one, where the caller is not known.
constexpr size_t stranger_room_max = 4096;
constexpr uint64_t line_of_new = UINT64_MAX;

}  // namespace

uint64_t Connection::line() const { return is_known() ? state_.held.caller() : line_of_new; }

void Connection::count_held() {
  state_.held.count({.unfinished = kept_.size() + http_.held_bytes() +
                                   (websocket_ ? websocket_->held_bytes() : 0),
                     .unread = buffered()});
}

bool Connection::is_paused() const {
  return state_.is_full() || (mode_ == Mode::http && http_.is_paused());
}

bool Connection::wants_input() const {
  return !ended_ && !cut_short_ && phase() != Phase::dead &&
         (phase() == Phase::closing || !is_paused());
}

void Connection::feed(std::span<char> bytes) {
  state_.active = state_.around.now;
  state_.held.heard();
  cut_short_ = false;
  while (!bytes.empty() && !cut_short_ && take(bytes)) {
    cut_short_ = !bytes.empty() && state_.around.turn_is_over && state_.around.turn_is_over();
  }
  kept_.assign(bytes.data(), bytes.size());
  const bool has_part =
      !kept_.empty() || (mode_ == Mode::websocket ? websocket_->in_message() : http_.has_part());
  const bool pending = phase() == Phase::open && mode_ != Mode::stream && !is_paused() && has_part;
  if (pending && !state_.request_pending) {
    state_.request_began = state_.around.now;
  }
  state_.request_pending = pending;
  count_held();
  if (!state_.held.is_within_limits() && phase() == Phase::open) {
    refuse_to_hold();
  }
}

void Connection::refuse_to_hold() {
  if (mode_ == Mode::websocket) {
    websocket_->close_unread(CloseCode::try_again_later, "too many messages that are not whole");
    websocket_->drop_message();
  } else {
    refuse(state_.held.sends_too_much());
  }
  std::string().swap(kept_);  // to assign an empty one keeps the room
  http_.drop_request();
  count_held();
}

void Connection::resume() {
  std::string kept;
  kept.swap(kept_);
  feed(kept);
}

bool Connection::take(std::span<char>& bytes) {
  if (mode_ == Mode::websocket && phase() != Phase::dead && websocket_->takes_more()) {
    return websocket_->take(bytes);
  }
  if (phase() == Phase::open && mode_ == Mode::http && http_.takes_more()) {
    return http_.take(bytes);
  }
  bytes = {};  // nothing would answer it
  return false;
}

void Connection::wrote(size_t size) {
  state_.progress = state_.around.now;
  state_.output.wrote(size);
  if (state_.output.is_empty()) {
    if (!state_.held.is_caller_known() && state_.output.capacity() > stranger_room_max) {
      state_.output.shrink();  // there may be thousands of them, each with one large answer
    }
    // The time to linger begins when the output has left: the peer could not know before.
    state_.closing_since = state_.around.now;
  }
  count_held();
  if (state_.over_mark && buffered() <= state_.held.output_max() / 2) {
    state_.over_mark = false;
    if (phase() == Phase::open) {
      state_.around.handler->on_drained(id());
    }
  }
  state_.output.tell_written();
}

void Connection::end_of_turn() {
  // After both close frames the server ends first (RFC 6455, 7.1.1), without a linger.
  const bool is_closed = websocket_ && websocket_->is_closed_by_both();
  if ((ended_ || is_closed) && output().empty() && !cut_short_) {
    fail();
  }
}

bool Connection::output_ended() const {
  return phase() == Phase::closing && output().empty() &&
         (mode_ != Mode::websocket || !websocket_->takes_more());
}

void Connection::respond(uint64_t number, const Response& response) {
  if (!http_.is_unanswered(number)) {
    return;
  }
  const bool fits = state_.held.may_answer(response.body.size());
  const bool may_be_told = state_.held.is_caller_known() && http_.is_safe(number);
  if (buffered() > 2 * state_.around.limits.buffered_max || (!fits && !may_be_told)) {
    fail();  // the peer does not know whether the request was carried out, which is the truth
    return;
  }
  http_.respond(number, fits ? response
                             : state_.around.handler->problem(state_.held.reads_too_little()));
  count_held();
}

void Connection::start_stream(uint64_t number, const Response& head) {
  if (http_.start_stream(number, head)) {
    mode_ = Mode::stream;
  }
}

void Connection::accept_websocket(uint64_t number, std::string_view protocol) {
  if (!http_.is_upgrade(number)) {
    const Error error{
        Code::upgrade_required, "this is a WebSocket: connect with `Upgrade: websocket`", {}};
    respond(number, upgrade_required(state_.around.handler->problem(error)));
    return;
  }
  mode_ = Mode::websocket;
  websocket_.emplace(state_);
  http_.accept_websocket(number, protocol);
}

void Connection::send(std::string_view bytes, std::vector<Report> reports) {
  if (phase() != Phase::open || mode_ == Mode::http) {
    return;
  }
  // Before, not after: one message may be larger than all that may wait.
  if (buffered() > 2 * state_.around.limits.buffered_max) {
    fail();
    return;
  }
  state_.append_last([&](std::string& out) {
    if (mode_ == Mode::websocket) {
      append_frame(out, Opcode::text, bytes);
    } else {
      http_.append_to_stream(out, bytes);
    }
  });
  state_.answers.add_reports(reports);
  count_held();
}

void Connection::close(uint16_t code, std::string_view reason) {
  if (phase() != Phase::open) {
    return;
  }
  switch (mode_) {
    case Mode::websocket:
      websocket_->close(CloseCode::may_be_sent(code) ? code : CloseCode::normal, reason);
      break;
    case Mode::stream:
      state_.append_last([&](std::string& out) { http_.end_stream(out); });
      state_.begin_closing();
      break;
    case Mode::http:
      state_.begin_closing();
      break;
  }
}

void Connection::tick() {
  if (output().empty()) {
    state_.progress = state_.around.now;
  } else if (state_.around.now - state_.progress > state_.around.limits.idle_timeout) {
    fail();  // the peer does not read
  }
  if (phase() == Phase::open) {
    tick_open();
  } else if (phase() == Phase::closing && output().empty() &&
             state_.around.now - state_.closing_since > ConnectionState::linger) {
    fail();
  }
}

void Connection::tick_open() {
  if (http_.check_caller()) {
    std::string().swap(kept_);  // to assign an empty one keeps the room
    count_held();
  }
  check_times();
  // Whatever goes on: a byte now and then must not keep the room that something large took.
  if (state_.around.now - state_.trimmed > trim_after && output().empty()) {
    state_.trimmed = state_.around.now;
    trim();
  }
}

void Connection::check_times() {
  const Server::Limits& limits = state_.around.limits;
  const Time now = state_.around.now;
  // Who connects has something to ask: a handshake of TLS that never ends is not worth the wait.
  const Duration idle_max =
      is_known() ? limits.idle_timeout : std::min(limits.idle_timeout, limits.request_timeout);
  if (is_paused()) {
    state_.request_began = now;  // it cannot go on: we do not read
  }
  const bool is_late =
      state_.request_pending && now - state_.request_began > limits.request_timeout;
  if (mode_ == Mode::websocket && is_late) {
    websocket_->close_unread(CloseCode::policy, "the message was not whole in time");
  } else if (mode_ == Mode::websocket) {
    websocket_->ping();
  } else if (is_late) {
    refuse({Code::request_timeout,
            "the request was not whole after " + base::format_duration(limits.request_timeout) +
                "; send it again",
            {}});
  } else if (mode_ == Mode::http && state_.answers.waiting() == 0 && !state_.request_pending &&
             output().empty() && now - state_.active > idle_max) {
    fail();
  }
}

void Connection::trim() {
  state_.output.shrink();
  state_.answers.shrink();
  kept_.shrink_to_fit();
  http_.trim();
  if (websocket_) {
    websocket_->trim();
  }
}

}  // namespace parley::net
