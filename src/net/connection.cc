// SPDX-License-Identifier: Apache-2.0
#include "net/connection.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace parley::net {

namespace {

constexpr uint8_t pings_unanswered_max = 2;
constexpr Duration trim_after = base::seconds(1);
// Of a buffer for answers that is kept for the next one, where the caller is not known.
constexpr size_t stranger_room_max = 4096;
// When to try again after too much was held.
constexpr Duration hold_again_after = base::seconds(1);

// RFC 9110, 15.5.22: names the protocol. RFC 6455, 4.4: and its version.
Response upgrade_required(const Error& error) {
  Response response = problem(error);
  response.headers.emplace_back("Connection", "Upgrade");
  response.headers.emplace_back("Upgrade", "websocket");
  response.headers.emplace_back("Sec-WebSocket-Version", "13");
  return response;
}

}  // namespace

Connection::Connection(ConnectionId id, Surroundings& around)
    : id_(id),
      around_(around),
      parser_({around.limits.header_bytes_max, around.limits.body_bytes_max}),
      active_(around.now),
      progress_(around.now),
      pinged_(around.now) {}

Connection::~Connection() { count(0); }

size_t Connection::held_bytes() const {
  const size_t unfinished =
      kept_.size() + parser_.held_bytes() + (frames_ ? frames_->held_bytes() : 0);
  return caller_known() ? unfinished : buffered() + unfinished;
}

void Connection::weigh() {
  const size_t held = held_bytes();
  if (counted_for_ != caller_) {
    count(0);
    counted_for_ = caller_;
  }
  count(held);
}

void Connection::count(size_t held) {
  if (held == weight_) {
    return;  // most often: a request that came whole leaves nothing
  }
  size_t& all = counted_for_ == 0 ? around_.unauthenticated_bytes
                                  : around_.unfinished_bytes[counted_for_];
  all += held - weight_;
  weight_ = held;
  if (all == 0 && counted_for_ != 0) {
    around_.unfinished_bytes.erase(counted_for_);
  }
}

// Who keeps to an even share is never turned away: all of them together stay within the limit.
bool Connection::may_hold(size_t more) {
  weigh();
  const Server::Limits& limits = around_.limits;
  const size_t all = limits.unauthenticated_bytes_max;
  return weight_ + more <= all / std::max<size_t>(limits.connections_max, 1) ||
         around_.unauthenticated_bytes + more <= all;
}

// What one connection holds has a limit of its own: the only one of its caller is never refused.
bool Connection::is_within_share() {
  weigh();
  if (weight_ == 0) {
    return true;
  }
  const size_t all = around_.unfinished_bytes.at(caller_);
  return all == weight_ || all <= around_.limits.unfinished_bytes_per_principal_max;
}

bool Connection::is_paused() const {
  if (buffered() > around_.limits.buffered_max) {
    return true;
  }
  if (mode_ != Mode::http) {
    return false;
  }
  // The bytes behind an upgrade are frames or requests: which, the answer says.
  const bool upgrade_waits = waiting() > 0 && slots_.back().is_upgrade;
  return upgrade_waits || waiting() >= around_.limits.pipelined_max;
}

bool Connection::wants_input() const {
  return !ended_ && !cut_short_ && phase_ != Phase::dead &&
         (phase_ == Phase::closing || !is_paused());
}

void Connection::feed(std::span<char> bytes) {
  active_ = around_.now;
  cut_short_ = false;
  while (!bytes.empty() && !cut_short_ && take(bytes)) {
    cut_short_ = !bytes.empty() && around_.turn_is_over && around_.turn_is_over();
  }
  kept_.assign(bytes.data(), bytes.size());
  const bool has_part =
      !kept_.empty() || (mode_ == Mode::websocket ? frames_->in_message() : parser_.started());
  const bool pending = phase_ == Phase::open && mode_ != Mode::stream && !is_paused() && has_part;
  if (pending && !request_pending_) {
    request_began_ = around_.now;
  }
  request_pending_ = pending;
  const bool may_go_on = caller_known() ? is_within_share() : may_hold(0);
  if (!may_go_on && phase_ == Phase::open) {
    refuse_to_hold();
  }
}

void Connection::refuse_to_hold() {
  if (mode_ == Mode::websocket) {
    close_received_ = true;  // within a frame: the peer's close could not be told from its text
    append_close(CloseCode::try_again_later, "too many messages that are not whole");
    frames_.emplace(Side::server, around_.limits.message_bytes_max);
  } else if (caller_known()) {
    refuse({Code::rate_limited,
            "your unfinished requests hold over " +
                std::to_string(around_.limits.unfinished_bytes_per_principal_max) +
                " bytes (server.unfinished_bytes_per_principal_max); send fewer bodies at once",
            {},
            hold_again_after});
  } else {
    refuse({Code::overloaded,
            "too much is held for callers that are not known yet; ask again after a pause, with "
            "the head of the request at once",
            {},
            hold_again_after});
  }
  std::string().swap(kept_);  // to assign an empty one keeps the room
  parser_.reset();
  parser_.trim();
  weigh();
}

void Connection::resume() {
  std::string kept;
  kept.swap(kept_);
  feed(kept);
}

bool Connection::take(std::span<char>& bytes) {
  if (mode_ == Mode::websocket && phase_ != Phase::dead && !close_received_) {
    return take_frame(bytes);
  }
  if (phase_ == Phase::open && mode_ == Mode::http && !last_request_) {
    return take_request(bytes);
  }
  bytes = {};  // nothing would answer it
  return false;
}

bool Connection::take_request(std::span<char>& bytes) {
  if (is_paused()) {
    return false;
  }
  bytes = bytes.subspan(parser_.feed({bytes.data(), bytes.size()}));
  switch (parser_.state()) {
    case RequestParser::State::need_more:
      return false;
    case RequestParser::State::head:
      head_complete(bytes.empty());
      return true;
    case RequestParser::State::failed:
      refuse(parser_.error());
      return true;
    case RequestParser::State::complete:
      request_complete();
      return true;
  }
  return false;
}

Request Connection::request() const {
  Request request;
  request.method = parser_.method();
  request.path = parser_.path();
  request.query = parser_.query();
  request.wants_websocket = parser_.wants_websocket();
  request.header = [this](std::string_view name) { return parser_.header(name); };
  return request;
}

// `is_all`: nothing came behind it.
void Connection::head_complete(bool is_all) {
  head_heard_ = true;
  caller_ = around_.handler->on_head(request());
  if (!caller_known()) {
    request_complete();
    return;
  }
  parser_.take_body();
  continue_due_ = is_all && parser_.expects_continue();
  send_continue();
}

void Connection::request_complete() {
  if (!head_heard_) {
    caller_ = around_.handler->on_head(request());
  }
  const bool is_whole = parser_.state() == RequestParser::State::complete;
  Slot slot;
  slot.framing = {.keep_alive = parser_.keep_alive() && is_whole,
                  .to_head = parser_.method() == "HEAD",
                  .to_http_1_0 = parser_.is_http_1_0()};
  slot.is_upgrade = parser_.wants_websocket();
  if (slot.is_upgrade) {
    accept_ = websocket_accept(parser_.header("sec-websocket-key"));
  }
  last_request_ = !slot.framing.keep_alive;
  request_pending_ = false;
  continue_due_ = false;
  head_heard_ = false;
  slots_.push_back(std::move(slot));
  ++number_;
  Request whole = request();
  whole.body = is_whole ? parser_.body() : std::string_view{};
  around_.handler->on_request(Exchange{id_, number_}, whole);
  parser_.reset();
}

void Connection::send_continue() {
  if (continue_due_ && waiting() == 0) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    continue_due_ = false;
  }
}

bool Connection::take_frame(std::span<char>& bytes) {
  if (phase_ == Phase::open && is_paused()) {
    return false;
  }
  const FrameReader::Event event = frames_->next(bytes);
  switch (event.kind) {
    case FrameReader::Kind::need_more:
      return false;
    case FrameReader::Kind::text:
    case FrameReader::Kind::binary:
      pings_unanswered_ = 0;
      request_pending_ = false;
      // After our close frame the rest is read only to find the peer's.
      if (phase_ == Phase::open) {
        around_.handler->on_message(id_, event.data);
      }
      frames_->heard();
      return true;
    case FrameReader::Kind::ping:
      if (phase_ == Phase::open) {
        append_last([&](std::string& out) { append_frame(out, Opcode::pong, event.data); });
      }
      return true;
    case FrameReader::Kind::pong:
      pings_unanswered_ = 0;
      return true;
    case FrameReader::Kind::close:
      close_received_ = true;
      close_is_mutual_ = true;
      append_close(event.code, {});
      return true;
    case FrameReader::Kind::failed:
      // No frame behind this one can be found any more: what follows is dropped.
      close_received_ = true;
      append_close(event.code, event.data);
      return true;
  }
  return false;
}

void Connection::input_ended() { ended_ = true; }

void Connection::wrote(size_t size) {
  progress_ = around_.now;
  out_at_ += size;
  written_ += size;
  CHECK(out_at_ <= out_.size());
  if (out_at_ == out_.size()) {
    out_.clear();
    out_at_ = 0;
    if (!caller_known() && out_.capacity() > stranger_room_max) {
      out_.shrink_to_fit();  // there may be thousands of them, each with one large answer
    }
    closing_since_ = around_.now;  // of a closing one: the peer could not know before
  } else if (out_at_ > out_.size() / 2) {
    // Not at every write: moving the rest each time would cost the square of it.
    out_.erase(0, out_at_);
    out_at_ = 0;
  }
  weigh();
  if (over_mark_ && buffered() <= around_.limits.buffered_max / 2) {
    over_mark_ = false;
    if (phase_ == Phase::open) {
      around_.handler->on_drained(id_);
    }
  }
  tell_written();
}

void Connection::add_reports(std::vector<Report>& reports) {
  for (Report& each : reports) {
    reports_.emplace_back(written_ + output().size(), std::move(each));
  }
  reports.clear();
}

void Connection::tell_written() {
  while (!reports_.empty() && reports_.front().first <= written_) {
    const Report report = std::move(reports_.front().second);
    reports_.pop_front();
    report->end(true);
  }
}

void Connection::end_of_turn() {
  // After both close frames the server ends first (RFC 6455, 7.1.1), without a linger.
  if ((ended_ || close_is_mutual_) && output().empty() && !cut_short_) {
    phase_ = Phase::dead;
  }
}

bool Connection::output_ended() const {
  return phase_ == Phase::closing && output().empty() &&
         (mode_ != Mode::websocket || close_received_);
}

Connection::Slot* Connection::find(uint64_t number) {
  if (phase_ != Phase::open || number < first_ || number - first_ >= waiting()) {
    return nullptr;
  }
  Slot& slot = slots_[slots_at_ + static_cast<size_t>(number - first_)];
  return slot.is_answered ? nullptr : &slot;
}

void Connection::answered(Slot& slot) {
  slot.is_answered = true;
  queued_bytes_ += slot.bytes.size();
  release();
}

void Connection::release() {
  while (waiting() > 0 && slots_[slots_at_].is_answered) {
    Slot& slot = slots_[slots_at_];
    queued_bytes_ -= slot.bytes.size();
    out_ += slot.bytes;
    std::string().swap(slot.bytes);
    add_reports(slot.reports);
    const bool keep_alive = slot.framing.keep_alive;
    ++slots_at_;
    ++first_;
    if (!keep_alive) {
      begin_closing();
      return;
    }
  }
  if (waiting() == 0) {
    slots_.clear();
    slots_at_ = 0;
    active_ = around_.now;
    send_continue();
  } else if (slots_at_ > around_.limits.pipelined_max) {
    slots_.erase(slots_.begin(), slots_.begin() + static_cast<ptrdiff_t>(slots_at_));
    slots_at_ = 0;
  }
}

void Connection::respond(uint64_t number, const Response& response) {
  Slot* slot = find(number);
  if (slot == nullptr) {
    return;
  }
  if (buffered() > 2 * around_.limits.buffered_max ||
      (!caller_known() && !may_hold(response.body.size()))) {
    phase_ = Phase::dead;
    return;
  }
  append_response(sink(*slot), response, slot->framing, around_.date);
  slot->is_upgrade = false;
  slot->reports = response.reports;
  answered(*slot);
  weigh();
}

void Connection::start_stream(uint64_t number, const Response& head) {
  Slot* slot = find(number);
  if (slot == nullptr) {
    return;
  }
  Framing framing = slot->framing;
  framing.is_stream = true;
  framing.keep_alive = !framing.to_http_1_0 && !framing.to_head;
  append_response(sink(*slot), head, framing, around_.date);
  if (framing.to_head) {
    slot->framing.keep_alive = false;  // there is no body to come
  } else {
    // The body has no end, so requests behind this one will never be answered.
    for (const Slot* behind = slot + 1; behind <= &slots_.back(); ++behind) {
      queued_bytes_ -= behind->is_answered ? behind->bytes.size() : 0;
    }
    slots_.resize(slots_at_ + static_cast<size_t>(number - first_) + 1);
    slot = &slots_.back();
    slot->framing.keep_alive = true;
    stream_is_chunked_ = !framing.to_http_1_0;
    mode_ = Mode::stream;
  }
  slot->is_upgrade = false;
  answered(*slot);
}

void Connection::accept_websocket(uint64_t number, std::string_view protocol) {
  Slot* slot = find(number);
  if (slot == nullptr) {
    return;
  }
  if (!slot->is_upgrade) {
    return respond(number, upgrade_required({Code::upgrade_required,
                                             "this is a WebSocket: connect with `Upgrade: "
                                             "websocket`",
                                             {}}));
  }
  std::string& out = sink(*slot);
  out += "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
  out += "Sec-WebSocket-Accept: " + std::exchange(accept_, {}) + "\r\n";
  if (!protocol.empty()) {
    out += "Sec-WebSocket-Protocol: ";
    out += protocol;
    out += "\r\n";
  }
  out += "\r\n";
  slot->is_upgrade = false;
  slot->framing.keep_alive = true;
  last_request_ = false;
  mode_ = Mode::websocket;
  frames_.emplace(Side::server, around_.limits.message_bytes_max);
  pinged_ = around_.now;
  answered(*slot);
}

template <class Append>
void Connection::append_last(const Append& append) {
  if (waiting() == 0) {
    append(out_);
  } else {
    std::string& bytes = slots_.back().bytes;
    const size_t before = bytes.size();
    append(bytes);
    queued_bytes_ += bytes.size() - before;
  }
  over_mark_ = over_mark_ || buffered() > around_.limits.buffered_max;
}

void Connection::send(std::string_view bytes, std::vector<Report> reports) {
  if (phase_ != Phase::open || mode_ == Mode::http) {
    return;
  }
  // Before, not after: one message may be larger than all that may wait.
  if (buffered() > 2 * around_.limits.buffered_max) {
    phase_ = Phase::dead;
    return;
  }
  append_last([&](std::string& out) {
    if (mode_ == Mode::websocket) {
      append_frame(out, Opcode::text, bytes);
    } else if (stream_is_chunked_) {
      append_chunk(out, bytes);
    } else {
      out += bytes;
    }
  });
  if (waiting() == 0) {
    add_reports(reports);
  } else {
    std::ranges::move(reports, std::back_inserter(slots_.back().reports));
  }
}

void Connection::close(uint16_t code, std::string_view reason) {
  if (phase_ != Phase::open) {
    return;
  }
  switch (mode_) {
    case Mode::websocket:
      append_close(CloseCode::may_be_sent(code) ? code : CloseCode::normal, reason);
      break;
    case Mode::stream:
      append_last([&](std::string& out) { out += stream_is_chunked_ ? "0\r\n\r\n" : ""; });
      begin_closing();
      break;
    case Mode::http:
      begin_closing();
      break;
  }
}

void Connection::append_close(uint16_t code, std::string_view reason) {
  if (!std::exchange(close_sent_, true)) {
    append_last(
        [&](std::string& out) { append_frame(out, Opcode::close, close_payload(code, reason)); });
    begin_closing();
  }
}

void Connection::begin_closing() {
  phase_ = Phase::closing;
  closing_since_ = around_.now;
  slots_.clear();
  slots_at_ = 0;
  queued_bytes_ = 0;
}

void Connection::refuse(const Error& error) {
  const Response response =
      error.code == Code::upgrade_required ? upgrade_required(error) : problem(error);
  Slot& slot = slots_.emplace_back();
  slot.framing.keep_alive = false;
  last_request_ = true;
  request_pending_ = false;
  head_heard_ = false;
  append_response(sink(slot), response, slot.framing, around_.date);
  answered(slot);
}

void Connection::tick() {
  if (output().empty()) {
    progress_ = around_.now;
  } else if (around_.now - progress_ > around_.limits.idle_timeout) {
    phase_ = Phase::dead;  // the peer does not read
  }
  if (phase_ == Phase::open) {
    tick_open();
  } else if (phase_ == Phase::closing && output().empty() &&
             around_.now - closing_since_ > linger) {
    phase_ = Phase::dead;
  }
}

void Connection::check_caller() {
  if (!head_heard_ || around_.handler->on_head(request()) == caller_) {
    return;
  }
  caller_ = 0;
  request_complete();
  std::string().swap(kept_);  // to assign an empty one keeps the room
  parser_.trim();
  weigh();
}

void Connection::tick_open() {
  check_caller();
  const Server::Limits& limits = around_.limits;
  // Who connects has something to ask: a handshake of TLS that never ends is not worth the wait.
  const Duration idle_max =
      is_known() ? limits.idle_timeout : std::min(limits.idle_timeout, limits.request_timeout);
  if (is_paused()) {
    request_began_ = around_.now;  // it cannot go on: we do not read
  }
  const bool is_late = request_pending_ && around_.now - request_began_ > limits.request_timeout;
  if (mode_ == Mode::websocket && is_late) {
    close_received_ = true;  // within a frame: the peer's close could not be told from its text
    append_close(CloseCode::policy, "the message was not whole in time");
  } else if (mode_ == Mode::websocket) {
    ping();
  } else if (is_late) {
    refuse({Code::request_timeout,
            "the request was not whole after " + base::format_duration(limits.request_timeout) +
                "; send it again",
            {}});
  } else if (mode_ == Mode::http && waiting() == 0 && !request_pending_ && output().empty() &&
             around_.now - active_ > idle_max) {
    phase_ = Phase::dead;
  }
  // Whatever goes on: a byte now and then must not keep the room that something large took.
  if (around_.now - trimmed_ > trim_after && output().empty()) {
    trimmed_ = around_.now;
    trim();
  }
}

void Connection::ping() {
  if (around_.now - pinged_ < around_.limits.ping_interval) {
    return;
  }
  // A slow reader has not seen the pings behind what waits for it; but it reads.
  const bool reads = !output().empty() && progress_ > pinged_;
  pinged_ = around_.now;
  if (reads) {
    pings_unanswered_ = 0;
    return;
  }
  if (pings_unanswered_ >= pings_unanswered_max) {
    phase_ = Phase::dead;
    return;
  }
  ++pings_unanswered_;
  append_last([](std::string& out) { append_frame(out, Opcode::ping, {}); });
}

void Connection::trim() {
  out_.shrink_to_fit();
  kept_.shrink_to_fit();
  slots_.shrink_to_fit();
  if (!parser_.started()) {
    parser_.trim();
  }
  if (frames_) {
    frames_->trim();
  }
}

}  // namespace parley::net
