// SPDX-License-Identifier: Apache-2.0
#include "net/websocket.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "lib/tls.h"

namespace parley::net {

namespace {

constexpr size_t control_payload_max = 125;
// Memory that a connection keeps for its next message.
constexpr size_t room_kept_max = 64 * 1024;
// Values of the seven length bits that say: the length follows, in two or in eight bytes.
constexpr uint8_t length_16 = 126;
constexpr uint8_t length_64 = 127;
// The bits that no byte of ASCII has.
constexpr uint64_t high_bits = 0x8080808080808080;

uint8_t byte(char c) { return static_cast<uint8_t>(c); }

uint64_t big_endian(std::span<const char> bytes) {
  uint64_t value = 0;
  for (const char c : bytes) {
    value = value << 8 | byte(c);
  }
  return value;
}

void append_header(std::string& out, Opcode opcode, size_t size, bool masked) {
  const auto mask_bit = static_cast<uint8_t>(masked ? 0x80 : 0);
  out += static_cast<char>(0x80 | static_cast<uint8_t>(opcode));
  int length_bytes = 0;
  if (size <= control_payload_max) {
    out += static_cast<char>(mask_bit | size);
  } else if (size <= 0xffff) {
    out += static_cast<char>(mask_bit | length_16);
    length_bytes = 2;
  } else {
    out += static_cast<char>(mask_bit | length_64);
    length_bytes = 8;
  }
  for (int at = length_bytes - 1; at >= 0; --at) {
    out += static_cast<char>(static_cast<uint64_t>(size) >> (8 * at));
  }
}

}  // namespace

bool CloseCode::may_be_sent(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

bool Utf8::feed(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (need_ == 0) {
      // Most text is ASCII, so eight bytes are looked at together.
      uint64_t word = 0;
      while (at + sizeof word <= text.size()) {
        std::memcpy(&word, text.data() + at, sizeof word);
        if ((word & high_bits) != 0) {
          break;
        }
        at += sizeof word;
      }
      if (at == text.size()) {
        break;
      }
      const uint8_t lead = byte(text[at++]);
      if (lead < 0x80) {
        continue;
      }
      if (lead < 0xc2 || lead > 0xf4) {
        return false;  // a continuation, an overlong form, or beyond U+10FFFF
      }
      need_ = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
      // The bounds of the second byte exclude overlong forms, surrogates and what is beyond
      // U+10FFFF.
      low_ = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
      high_ = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
      continue;
    }
    const uint8_t next = byte(text[at++]);
    if (next < low_ || next > high_) {
      return false;
    }
    --need_;
    low_ = 0x80;
    high_ = 0xbf;
  }
  return true;
}

bool apply_mask(std::span<char> bytes, uint32_t mask, size_t at) {
  // The mask is turned so that its first byte in memory is the one for the first of the bytes.
  static_assert(std::endian::native == std::endian::little);
  const uint32_t turned = std::rotr(mask, static_cast<int>(8 * (at % 4)));
  const uint64_t wide = uint64_t{turned} << 32 | turned;
  char* p = bytes.data();
  char* const end = p + bytes.size();
  uint64_t seen = 0;
  // Four words at a time, which the compiler makes one vector operation.
  for (; end - p >= 32; p += 32) {
    uint64_t words[4];
    std::memcpy(words, p, sizeof words);
    for (uint64_t& word : words) {
      word ^= wide;
      seen |= word;
    }
    std::memcpy(p, words, sizeof words);
  }
  for (; end - p >= 8; p += 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    word ^= wide;
    seen |= word;
    std::memcpy(p, &word, sizeof word);
  }
  for (int shift = 0; p < end; ++p, shift += 8) {
    *p = static_cast<char>(byte(*p) ^ static_cast<uint8_t>(wide >> shift));
    seen |= byte(*p);
  }
  return (seen & high_bits) == 0;
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload) {
  append_header(out, opcode, payload.size(), false);
  out += payload;
}

void append_masked_frame(std::string& out, Opcode opcode, std::string_view payload, uint32_t mask) {
  append_header(out, opcode, payload.size(), true);
  out.append(reinterpret_cast<const char*>(&mask), sizeof mask);
  const size_t at = out.size();
  out += payload;
  apply_mask(std::span(out).subspan(at), mask, 0);
}

std::string close_payload(uint16_t code, std::string_view reason) {
  std::string payload;
  if (code == CloseCode::none) {
    return payload;
  }
  CHECK(CloseCode::may_be_sent(code));
  payload += static_cast<char>(code >> 8);
  payload += static_cast<char>(code & 0xff);
  size_t size = std::min(reason.size(), control_payload_max - 2);
  while (size > 0 && size < reason.size() && (byte(reason[size]) & 0xc0) == 0x80) {
    --size;
  }
  payload += reason.substr(0, size);
  return payload;
}

struct FrameReader::Header {
  bool fin = false;
  bool masked = false;
  uint8_t reserved = 0;
  uint8_t opcode = 0;
  uint32_t mask = 0;
  uint64_t length = 0;
  size_t size = 0;  // of the header itself
};

FrameReader::Event FrameReader::fail(uint16_t code, std::string_view reason) {
  ended_ = true;
  return {Kind::failed, code, reason};
}

FrameReader::Event FrameReader::next(std::span<char>& bytes) {
  heard();
  while (!ended_) {
    if (in_frame_) {
      if (!take_part(bytes)) {
        return fail(CloseCode::bad_text, "the text is not UTF-8");
      }
      if (remaining_ > 0) {
        return {};
      }
      const Event event = end_of_frame();
      if (event.kind != Kind::need_more) {
        return event;
      }
    }
    Header header;
    Event event;
    if (!parse_header(bytes, header, event)) {
      return event;
    }
    const bool is_control = header.opcode >= 0x8;
    const size_t there = bytes.size() - header.size;
    // A control frame is taken whole: it has at most 125 bytes, and may come within a message.
    if (is_control && there < header.length) {
      return {};
    }
    bytes = bytes.subspan(header.size);
    if (is_control) {
      const std::span<char> payload = bytes.first(static_cast<size_t>(header.length));
      bytes = bytes.subspan(payload.size());
      return control_frame(header, payload);
    }
    // The usual case: the whole message is there, and is not copied.
    if (header.fin && !in_message_ && there >= header.length) {
      const std::span<char> payload = bytes.first(static_cast<size_t>(header.length));
      bytes = bytes.subspan(payload.size());
      return whole_message(header, payload);
    }
    if (!in_message_) {
      in_message_ = true;
      is_text_ = header.opcode == static_cast<uint8_t>(Opcode::text);
      utf8_ = {};
    }
    in_frame_ = true;
    fin_ = header.fin;
    mask_ = header.mask;
    mask_at_ = 0;
    remaining_ = header.length;
  }
  return {};
}

bool FrameReader::parse_header(std::span<const char> bytes, Header& header, Event& event) {
  if (bytes.size() < 2) {
    return false;
  }
  header.fin = (byte(bytes[0]) & 0x80) != 0;
  header.reserved = byte(bytes[0]) & 0x70;
  header.opcode = byte(bytes[0]) & 0x0f;
  header.masked = (byte(bytes[1]) & 0x80) != 0;
  header.length = byte(bytes[1]) & 0x7f;
  header.size = 2;
  // A frame that cannot become valid is refused before the rest of its header is there.
  event = check_header(header);
  if (event.kind == Kind::failed) {
    return false;
  }
  const size_t length_bytes = header.length == length_16 ? 2 : header.length == length_64 ? 8 : 0;
  const size_t mask_bytes = header.masked ? 4 : 0;
  if (bytes.size() < 2 + length_bytes) {
    return false;
  }
  if (length_bytes > 0) {
    header.length = big_endian(bytes.subspan(2, length_bytes));
    if (length_bytes == 8 && header.length >> 63 != 0) {
      event = fail(CloseCode::protocol_error, "the length has its highest bit set");
    } else if (header.length <= (length_bytes == 2 ? control_payload_max : 0xffff)) {
      event = fail(CloseCode::protocol_error, "the length is not in its shortest form");
    } else if (header.length > message_bytes_max_ - message_.size()) {
      event = fail(CloseCode::too_big, "the message is too large");
    }
  } else if (header.opcode < 0x8 && header.length > message_bytes_max_ - message_.size()) {
    event = fail(CloseCode::too_big, "the message is too large");
  }
  if (event.kind == Kind::failed || bytes.size() < 2 + length_bytes + mask_bytes) {
    return false;
  }
  header.size = 2 + length_bytes + mask_bytes;
  if (header.masked) {
    std::memcpy(&header.mask, bytes.data() + 2 + length_bytes, sizeof header.mask);
  }
  return true;
}

FrameReader::Event FrameReader::check_header(const Header& header) {
  if (header.reserved != 0) {
    return fail(CloseCode::protocol_error, "a reserved bit is set");
  }
  const bool is_control = header.opcode >= 0x8;
  if (header.opcode > 0xa || (header.opcode > 0x2 && !is_control)) {
    return fail(CloseCode::protocol_error, "the opcode is reserved");
  }
  if (header.masked != (side_ == Side::server)) {
    return fail(CloseCode::protocol_error, side_ == Side::server
                                               ? "a frame from a client must be masked"
                                               : "a frame from a server must not be masked");
  }
  if (is_control && !header.fin) {
    return fail(CloseCode::protocol_error, "a control frame must not be fragmented");
  }
  if (is_control && header.length > control_payload_max) {
    return fail(CloseCode::protocol_error, "a control frame has at most 125 bytes");
  }
  const bool continues = header.opcode == static_cast<uint8_t>(Opcode::continuation);
  if (!is_control && continues != in_message_) {
    return fail(CloseCode::protocol_error,
                continues ? "there is no message to continue" : "the message before has not ended");
  }
  return {};
}

FrameReader::Event FrameReader::control_frame(const Header& header, std::span<char> payload) {
  if (header.masked) {
    apply_mask(payload, header.mask, 0);
  }
  const std::string_view data(payload.data(), payload.size());
  switch (static_cast<Opcode>(header.opcode)) {
    case Opcode::close:
      return close_frame(data);
    case Opcode::ping:
      return {Kind::ping, 0, data};
    case Opcode::pong:
      return {Kind::pong, 0, data};
    case Opcode::continuation:
    case Opcode::text:
    case Opcode::binary:
      break;
  }
  CHECK(false);
  return {};
}

FrameReader::Event FrameReader::close_frame(std::string_view payload) {
  if (payload.empty()) {
    ended_ = true;
    return {Kind::close, CloseCode::none, {}};
  }
  if (payload.size() == 1) {
    return fail(CloseCode::protocol_error, "a close frame has no payload or a code");
  }
  const auto code = static_cast<uint16_t>(big_endian(std::span(payload).first(2)));
  if (!CloseCode::may_be_sent(code)) {
    return fail(CloseCode::protocol_error, "the close code is not valid");
  }
  Utf8 utf8;
  if (!utf8.feed(payload.substr(2)) || !utf8.is_complete()) {
    return fail(CloseCode::bad_text, "the reason is not UTF-8");
  }
  ended_ = true;
  return {Kind::close, code, payload.substr(2)};
}

FrameReader::Event FrameReader::whole_message(const Header& header, std::span<char> payload) {
  bool is_ascii = false;
  if (header.masked) {
    is_ascii = apply_mask(payload, header.mask, 0);
  }
  const std::string_view data(payload.data(), payload.size());
  if (header.opcode == static_cast<uint8_t>(Opcode::binary)) {
    return {Kind::binary, 0, data};
  }
  if (!is_ascii) {
    Utf8 utf8;
    if (!utf8.feed(data) || !utf8.is_complete()) {
      return fail(CloseCode::bad_text, "the text is not UTF-8");
    }
  }
  return {Kind::text, 0, data};
}

// Moves the part of the frame's payload that is there to the message. False when it is not UTF-8:
// RFC 6455, 8.1 lets a text fail before all of it is there.
bool FrameReader::take_part(std::span<char>& bytes) {
  const auto size = static_cast<size_t>(std::min<uint64_t>(remaining_, bytes.size()));
  const std::span<char> part = bytes.first(size);
  bytes = bytes.subspan(size);
  remaining_ -= size;
  if (side_ == Side::server) {
    apply_mask(part, mask_, mask_at_);
    mask_at_ += size;
  }
  const std::string_view text(part.data(), part.size());
  if (is_text_ && !utf8_.feed(text)) {
    return false;
  }
  message_ += text;
  return true;
}

FrameReader::Event FrameReader::end_of_frame() {
  in_frame_ = false;
  if (!fin_) {
    return {};
  }
  if (is_text_ && !utf8_.is_complete()) {
    return fail(CloseCode::bad_text, "the text is not UTF-8");
  }
  in_message_ = false;
  delivered_ = true;
  return {is_text_ ? Kind::text : Kind::binary, 0, message_};
}

void FrameReader::heard() {
  if (delivered_) {
    message_.clear();
    delivered_ = false;
    if (message_.capacity() > room_kept_max) {
      message_.shrink_to_fit();  // there may be thousands of connections
    }
  }
}

void FrameReader::trim() {
  heard();
  if (!in_message()) {  // a message that grows would be copied again and again
    message_.shrink_to_fit();
  }
}

std::string websocket_accept(std::string_view key) {
  std::string text(key);
  text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // the same for everyone: RFC 6455, 1.3
  return lib::sha1_base64(text);
}

}  // namespace parley::net
