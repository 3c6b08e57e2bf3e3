// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace parley::net {

// The frames of RFC 6455, without extensions. Pure: bytes in, bytes out.

enum class Opcode : uint8_t {
  continuation = 0x0,
  text = 0x1,
  binary = 0x2,
  close = 0x8,
  ping = 0x9,
  pong = 0xa,
};

enum class Side : uint8_t { server, client };

// Why a WebSocket ends. Any number that `may_be_sent` allows goes; these are the ones with a
// meaning here.
struct CloseCode {
  static constexpr uint16_t normal = 1000;
  static constexpr uint16_t going_away = 1001;
  static constexpr uint16_t protocol_error = 1002;
  static constexpr uint16_t none = 1005;      // never sent: the close frame was empty
  static constexpr uint16_t abnormal = 1006;  // never sent: no close frame came
  static constexpr uint16_t bad_text = 1007;
  static constexpr uint16_t policy = 1008;
  static constexpr uint16_t too_big = 1009;
  static constexpr uint16_t internal_error = 1011;
  static constexpr uint16_t try_again_later = 1013;

  // 1000 to 1003, 1007 to 1014 (of which IANA registered the last three after the RFC), 3000 to
  // 4999: the others are reserved or not assigned.
  static bool may_be_sent(uint16_t code);
};

// Checks that text is UTF-8, part by part; a character may be split between parts.
class Utf8 {
 public:
  // False as soon as no continuation can make it valid.
  bool feed(std::string_view text);
  // Not within a character.
  bool is_complete() const { return need_ == 0; }

 private:
  uint8_t need_ = 0;  // bytes that the character still wants
  uint8_t low_ = 0;   // bounds of the next of them
  uint8_t high_ = 0;
};

// XORs `bytes` with the four bytes of `mask` (as they lie in memory), starting with byte `at` of
// it. Returns whether the result is ASCII throughout.
bool apply_mask(std::span<char> bytes, uint32_t mask, size_t at);

// Appends a frame that is a whole message or a control frame. A client masks, a server does not.
void append_frame(std::string& out, Opcode opcode, std::string_view payload);
void append_masked_frame(std::string& out, Opcode opcode, std::string_view payload, uint32_t mask);

// The payload of a close frame; the reason is cut to what fits, between characters. `none` gives an
// empty one.
std::string close_payload(uint16_t code, std::string_view reason);

// Takes messages and control frames out of the bytes that a peer sent.
class FrameReader {
 public:
  enum class Kind : uint8_t { need_more, text, binary, ping, pong, close, failed };
  struct Event {
    Kind kind = Kind::need_more;
    uint16_t code = 0;      // of close: what the peer said, or `none`; of failed: what to say
    std::string_view data;  // message, payload of a control frame, or reason
  };

  // `side` is ours: a server's peer must mask, a client's must not.
  FrameReader(Side side, size_t message_bytes_max)
      : side_(side), message_bytes_max_(message_bytes_max) {}

  // Takes the next event from the front of `bytes`, which it shortens by what it used. A message
  // that lies whole in `bytes` is unmasked there and not copied: `data` is good until the next call
  // or until the bytes go away. On need_more what is left (under 140 bytes) must come again with
  // more behind it. After `close` and `failed` nothing more comes.
  Event next(std::span<char>& bytes);

  // Within a message, also between its frames.
  bool in_message() const { return in_message_ || remaining_ > 0; }
  // Bytes of a message that is not whole.
  size_t held_bytes() const { return delivered_ ? 0 : message_.size(); }
  // The message that `next` gave is not used any more: the memory of a large one is given back.
  void heard();
  // Gives back memory that no message uses now. Not while a message that `next` gave is in use.
  void trim();

 private:
  struct Header;

  Event fail(uint16_t code, std::string_view reason);
  // False when more bytes are wanted; an event of kind failed says what is wrong.
  bool parse_header(std::span<const char> bytes, Header& header, Event& event);
  Event check_header(const Header& header);
  Event control_frame(const Header& header, std::span<char> payload);
  Event close_frame(std::string_view payload);
  Event whole_message(const Header& header, std::span<char> payload);
  bool take_part(std::span<char>& bytes);
  Event end_of_frame();

  Side side_;
  bool in_message_ = false;  // a frame without FIN came, the last has not
  bool is_text_ = false;
  bool fin_ = false;        // of the frame that is being taken
  bool ended_ = false;      // closed or failed
  bool delivered_ = false;  // message_ was handed out and can be dropped
  bool in_frame_ = false;
  uint32_t mask_ = 0;
  size_t mask_at_ = 0;
  uint64_t remaining_ = 0;  // of the payload of the frame that is being taken
  size_t message_bytes_max_;
  std::string message_;  // the parts so far of a message that did not come in one piece
  Utf8 utf8_;
};

// What a server answers to `key` in Sec-WebSocket-Accept.
std::string websocket_accept(std::string_view key);

}  // namespace parley::net
