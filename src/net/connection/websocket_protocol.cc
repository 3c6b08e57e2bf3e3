// SPDX-License-Identifier: Apache-2.0
#include "net/connection/websocket_protocol.h"

#include <string>
#include <utility>

namespace parley::net {

namespace {

constexpr uint8_t pings_unanswered_max = 2;

}  // namespace

WebSocketProtocol::WebSocketProtocol(ConnectionState& connection)
    : connection_(connection),
      frames_(Side::server, connection.around.limits.message_bytes_max),
      pinged_(connection.around.now) {}

bool WebSocketProtocol::take(std::span<char>& bytes) {
  const bool is_open = connection_.phase == ConnectionPhase::open;
  if (is_open && connection_.is_full()) {
    return false;
  }
  const FrameReader::Event event = frames_.next(bytes);
  switch (event.kind) {
    case FrameReader::Kind::need_more:
      return false;
    case FrameReader::Kind::text:
    case FrameReader::Kind::binary:
      pings_unanswered_ = 0;
      connection_.request_pending = false;
      // After our close frame the rest is read only to find the peer's.
      if (is_open) {
        connection_.around.handler->on_message(connection_.id, event.data);
      }
      frames_.heard();
      return true;
    case FrameReader::Kind::ping:
      if (is_open) {
        connection_.append_last(
            [&](std::string& out) { append_frame(out, Opcode::pong, event.data); });
      }
      return true;
    case FrameReader::Kind::pong:
      pings_unanswered_ = 0;
      return true;
    case FrameReader::Kind::close:
      close_received_ = true;
      close_is_mutual_ = true;
      close(event.code, {});
      return true;
    case FrameReader::Kind::failed:
      // No frame behind this one can be found any more: what follows is dropped.
      close_unread(event.code, event.data);
      return true;
  }
  return false;
}

void WebSocketProtocol::close(uint16_t code, std::string_view reason) {
  if (!std::exchange(close_sent_, true)) {
    connection_.append_last(
        [&](std::string& out) { append_frame(out, Opcode::close, close_payload(code, reason)); });
    connection_.begin_closing();
  }
}

// Within a frame the peer's close could not be told from its text, so nobody waits for it.
void WebSocketProtocol::close_unread(uint16_t code, std::string_view reason) {
  close_received_ = true;
  close(code, reason);
}

void WebSocketProtocol::ping() {
  const Time now = connection_.around.now;
  if (now - pinged_ < connection_.around.limits.ping_interval) {
    return;
  }
  // A slow reader has not seen the pings behind what waits for it; but it reads.
  const bool reads = !connection_.output.is_empty() && connection_.progress > pinged_;
  pinged_ = now;
  if (reads) {
    pings_unanswered_ = 0;
    return;
  }
  if (pings_unanswered_ >= pings_unanswered_max) {
    connection_.phase = ConnectionPhase::dead;
    return;
  }
  ++pings_unanswered_;
  connection_.append_last([](std::string& out) { append_frame(out, Opcode::ping, {}); });
}

void WebSocketProtocol::drop_message() {
  frames_ = FrameReader(Side::server, connection_.around.limits.message_bytes_max);
}

}  // namespace parley::net
