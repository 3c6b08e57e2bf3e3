// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "net/connection/connection_state.h"
#include "net/websocket.h"

namespace parley::net {

// The WebSocket that a connection has become: reads frames, hands messages to the handler, answers
// pings and closes. A part of Connection, from the upgrade on.
class WebSocketProtocol {
 public:
  explicit WebSocketProtocol(ConnectionState& connection);

  // Takes from the front of the bytes what can be used now; false when nothing more can be.
  bool take(std::span<char>& bytes);
  // False once the peer's close frame came, or nothing more can be understood.
  bool takes_more() const { return !close_received_; }
  // Both sides sent a close frame.
  bool is_closed_by_both() const { return close_is_mutual_; }
  bool in_message() const { return frames_.in_message(); }
  size_t held_bytes() const { return frames_.held_bytes(); }

  // Sends a close frame, once, and begins to close.
  void close(uint16_t code, std::string_view reason);
  // The same in the middle of a message of the peer's, of which the rest is not understood.
  void close_unread(uint16_t code, std::string_view reason);
  // Pings when that is due. A peer that did not answer the last two is dead.
  void ping();

  // Drops what was read of a message, and gives back its memory.
  void drop_message();
  // Gives back memory that no message uses now.
  void trim() { frames_.trim(); }

 private:
  ConnectionState& connection_;
  FrameReader frames_;
  bool close_sent_ = false;
  bool close_received_ = false;
  bool close_is_mutual_ = false;
  uint8_t pings_unanswered_ = 0;
  Time pinged_;
};

}  // namespace parley::net
