// SPDX-License-Identifier: Apache-2.0
#include "net/connection/http_protocol.h"

#include <utility>

#include "net/websocket.h"

namespace parley::net {

HttpProtocol::HttpProtocol(ConnectionState& connection)
    : connection_(connection),
      parser_(
          {connection.around.limits.header_bytes_max, connection.around.limits.body_bytes_max}) {}

bool HttpProtocol::is_paused() const {
  const AnswerQueue& answers = connection_.answers;
  // The bytes behind an upgrade are frames or requests: which, the answer says.
  return answers.ends_with_upgrade() ||
         answers.waiting() >= connection_.around.limits.pipelined_max;
}

bool HttpProtocol::take(std::span<char>& bytes) {
  if (connection_.is_full() || is_paused()) {
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

Request HttpProtocol::request() const {
  // Views into the parser, good until it is reset.
  Request request;
  request.method = parser_.method();
  request.path = parser_.path();
  request.query = parser_.query();
  request.wants_websocket = parser_.wants_websocket();
  request.header = [this](std::string_view name) { return parser_.header(name); };
  return request;
}

bool HttpProtocol::hear_head() {
  connection_.held.set_caller(connection_.around.handler->on_head(request()));
  if (connection_.held.may_connect()) {
    return true;
  }
  const size_t limit = connection_.around.limits.connections_per_principal_max;
  refuse({Code::rate_limited,
          "you have " + std::to_string(limit) +
              " connections already (server.connections_per_principal_max); close some, or ask who "
              "runs the broker to raise the limit",
          {},
          base::seconds(1)});
  drop_request();
  return false;
}

// `is_all`: nothing came behind it.
void HttpProtocol::head_complete(bool is_all) {
  if (!hear_head()) {
    return;
  }
  head_heard_ = true;
  if (!connection_.held.is_caller_known()) {
    request_complete();
    return;
  }
  parser_.take_body();
  // A client that sent its body at once does not wait for the word to go on.
  continue_due_ = is_all && parser_.expects_continue();
  send_continue();
}

void HttpProtocol::request_complete() {
  Handler& handler = *connection_.around.handler;
  if (!head_heard_ && !hear_head()) {
    return;
  }
  // The body of a caller who is not known stays unread, so nothing behind it could be found.
  const bool is_whole = parser_.state() == RequestParser::State::complete;
  AnswerQueue::Slot slot;
  slot.framing = {.keep_alive = parser_.keep_alive() && is_whole,
                  .to_head = parser_.method() == "HEAD",
                  .to_http_1_0 = parser_.is_http_1_0()};
  slot.is_safe = parser_.method() == "GET" || parser_.method() == "HEAD";
  slot.is_upgrade = parser_.wants_websocket();
  if (slot.is_upgrade) {
    accept_ = websocket_accept(parser_.header("sec-websocket-key"));
  }
  last_request_ = !slot.framing.keep_alive;
  connection_.request_pending = false;
  continue_due_ = false;
  head_heard_ = false;
  // All state is set before the handler hears of the request: it may answer from within.
  connection_.answers.add(std::move(slot));
  ++number_;
  Request whole = request();
  whole.body = is_whole ? parser_.body() : std::string_view{};
  handler.on_request(Exchange{connection_.id, number_}, whole);
  parser_.reset();
}

void HttpProtocol::send_continue() {
  if (continue_due_ && connection_.answers.waiting() == 0) {
    connection_.output.bytes() += "HTTP/1.1 100 Continue\r\n\r\n";
    continue_due_ = false;
  }
}

// A connection that is closing answers nothing more.
AnswerQueue::Slot* HttpProtocol::find(uint64_t number) const {
  return connection_.phase == ConnectionPhase::open ? connection_.answers.find(number) : nullptr;
}

bool HttpProtocol::is_unanswered(uint64_t number) const { return find(number) != nullptr; }

bool HttpProtocol::is_safe(uint64_t number) const {
  const AnswerQueue::Slot* const slot = find(number);
  return slot != nullptr && slot->is_safe;
}

bool HttpProtocol::is_upgrade(uint64_t number) const {
  const AnswerQueue::Slot* const slot = find(number);
  return slot != nullptr && slot->is_upgrade;
}

void HttpProtocol::answered(AnswerQueue::Slot& slot) {
  if (!connection_.answers.answered(slot)) {
    connection_.begin_closing();
  } else if (connection_.answers.waiting() == 0) {
    connection_.active = connection_.around.now;
    send_continue();
  }
}

void HttpProtocol::respond(uint64_t number, const Response& response) {
  AnswerQueue::Slot* const slot = find(number);
  if (slot == nullptr) {
    return;
  }
  append_response(connection_.answers.sink(*slot), response, slot->framing,
                  connection_.around.date);
  slot->is_upgrade = false;
  slot->reports = response.reports;
  answered(*slot);
}

bool HttpProtocol::start_stream(uint64_t number, const Response& head) {
  AnswerQueue::Slot* slot = find(number);
  if (slot == nullptr) {
    return false;
  }
  Framing framing = slot->framing;
  framing.is_stream = true;
  // The body of HTTP/1.0 ends with the connection, which its head must say.
  framing.keep_alive = !framing.to_http_1_0 && !framing.to_head;
  append_response(connection_.answers.sink(*slot), head, framing, connection_.around.date);
  if (framing.to_head) {
    slot->framing.keep_alive = false;  // there is no body to come
  } else {
    // The body has no end, so requests behind this one will never be answered.
    slot = &connection_.answers.drop_behind(number);
    slot->framing.keep_alive = true;
    stream_is_chunked_ = !framing.to_http_1_0;
  }
  slot->is_upgrade = false;
  answered(*slot);
  return !framing.to_head;
}

void HttpProtocol::append_to_stream(std::string& out, std::string_view bytes) const {
  if (stream_is_chunked_) {
    append_chunk(out, bytes);
  } else {
    out += bytes;
  }
}

void HttpProtocol::end_stream(std::string& out) const {
  out += stream_is_chunked_ ? "0\r\n\r\n" : "";
}

void HttpProtocol::accept_websocket(uint64_t number, std::string_view protocol) {
  AnswerQueue::Slot* const slot = find(number);
  if (slot == nullptr) {
    return;
  }
  std::string& out = connection_.answers.sink(*slot);
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
  answered(*slot);
}

void HttpProtocol::refuse(const Error& error) {
  Response response = connection_.around.handler->problem(error);
  if (error.code == Code::upgrade_required) {
    response = upgrade_required(std::move(response));
  }
  AnswerQueue::Slot& slot = connection_.answers.add({});
  slot.framing.keep_alive = false;
  last_request_ = true;
  connection_.request_pending = false;
  head_heard_ = false;
  append_response(connection_.answers.sink(slot), response, slot.framing, connection_.around.date);
  answered(slot);
}

bool HttpProtocol::check_caller() {
  if (!head_heard_ || connection_.around.handler->on_head(request()) == connection_.held.caller()) {
    return false;
  }
  connection_.held.set_caller(0);
  request_complete();
  parser_.trim();
  return true;
}

void HttpProtocol::drop_request() {
  parser_.reset();
  parser_.trim();
}

void HttpProtocol::trim() {
  if (!parser_.started()) {
    parser_.trim();
  }
}

Response upgrade_required(Response response) {
  response.headers.emplace_back("Connection", "Upgrade");
  response.headers.emplace_back("Upgrade", "websocket");
  response.headers.emplace_back("Sec-WebSocket-Version", "13");
  return response;
}

}  // namespace parley::net
