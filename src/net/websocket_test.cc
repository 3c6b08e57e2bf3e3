// SPDX-License-Identifier: Apache-2.0
// RFC 6455, rule by rule, against the framing code alone. The numbers name its sections.
#include "net/websocket.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace parley::net {
namespace {

using Kind = FrameReader::Kind;

constexpr size_t message_max = 100'000;
constexpr uint32_t mask = 0x5a1f'c3e7;

struct Got {
  Kind kind = Kind::need_more;
  uint16_t code = 0;
  std::string data;

  bool operator==(const Got&) const = default;
};

void PrintTo(const Got& got, std::ostream* out) {
  *out << "{kind " << static_cast<int>(got.kind) << ", code " << got.code << ", " << got.data.size()
       << " bytes \"" << got.data.substr(0, 60) << "\"}";
}

// A frame that can be wrong in any way.
struct Frame {
  uint8_t opcode = 1;
  std::string payload;
  bool fin = true;
  uint8_t reserved = 0;
  bool masked = true;
  int length_bytes = -1;  // -1: the shortest form

  std::string bytes() const {
    std::string out;
    out += static_cast<char>((fin ? 0x80 : 0) | reserved << 4 | opcode);
    const size_t size = payload.size();
    const int wide = length_bytes >= 0 ? length_bytes : size <= 125 ? 0 : size <= 65535 ? 2 : 8;
    const size_t field = wide == 0 ? size : wide == 2 ? 126 : 127;
    out += static_cast<char>((masked ? 0x80 : 0) | field);
    for (int at = wide - 1; at >= 0; --at) {
      out += static_cast<char>(uint64_t{size} >> (8 * at));
    }
    if (!masked) {
      return out + payload;
    }
    out.append(reinterpret_cast<const char*>(&mask), 4);
    std::string hidden = payload;
    apply_mask(hidden, mask, 0);
    return out + hidden;
  }
};

std::string text(std::string payload) { return Frame{.payload = std::move(payload)}.bytes(); }

std::string close_frame(uint16_t code, std::string_view reason = {}) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code)};
  payload += reason;
  return Frame{.opcode = 8, .payload = payload}.bytes();
}

// All events of `bytes`, given to the reader in parts of at most `part` bytes.
std::vector<Got> read_all(const std::string& bytes, size_t part = SIZE_MAX,
                          Side side = Side::server) {
  FrameReader reader(side, message_max);
  std::vector<Got> all;
  std::string kept;
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = std::min(part, bytes.size() - at);
    kept.append(bytes, at, size);
    at += size;
    std::span<char> rest(kept);
    while (true) {
      const FrameReader::Event event = reader.next(rest);
      if (event.kind == Kind::need_more) {
        break;
      }
      all.push_back({event.kind, event.code, std::string(event.data)});
      if (event.kind == Kind::failed || event.kind == Kind::close) {
        return all;
      }
    }
    kept.erase(0, kept.size() - rest.size());
    EXPECT_LT(kept.size(), 140u);
  }
  return all;
}

// The same whole, byte by byte, and in parts of a few sizes.
std::vector<Got> read(const std::string& bytes, Side side = Side::server) {
  std::vector<Got> whole = read_all(bytes, SIZE_MAX, side);
  for (const size_t part : {1u, 2u, 3u, 7u, 64u, 4096u}) {
    if (bytes.size() / part < 300'000) {
      EXPECT_EQ(read_all(bytes, part, side), whole) << "in parts of " << part;
    }
  }
  return whole;
}

void expect_failure(const std::string& bytes, uint16_t code, Side side = Side::server) {
  const std::vector<Got> got = read(bytes, side);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].kind, Kind::failed);
  EXPECT_EQ(got[0].code, code);
  EXPECT_FALSE(got[0].data.empty());
}

// 1.3: the example of the handshake.
TEST(WebSocketHandshake, AcceptIsTheExampleOfTheRfc) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

// 5.7: the examples of frames.
TEST(WebSocketFrame, UnmaskedTextIsTheExampleOfTheRfc) {
  std::string out;
  append_frame(out, Opcode::text, "Hello");
  EXPECT_EQ(out, "\x81\x05Hello");
}

TEST(WebSocketFrame, MaskedTextIsTheExampleOfTheRfc) {
  const std::string bytes("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11);
  EXPECT_EQ(read(bytes), (std::vector<Got>{{Kind::text, 0, "Hello"}}));
  std::string out;
  append_masked_frame(out, Opcode::text, "Hello", 0x3d21fa37);
  EXPECT_EQ(out, bytes);
}

TEST(WebSocketFrame, LengthTakesTheShortestForm) {
  for (const size_t size : {0u, 125u, 126u, 65535u, 65536u}) {
    const std::string payload(size, 'a');
    std::string out;
    append_frame(out, Opcode::binary, payload);
    const size_t header = size <= 125 ? 2 : size <= 65535 ? 4 : 10;
    EXPECT_EQ(out.size(), header + size);
    EXPECT_EQ(read(out, Side::client), (std::vector<Got>{{Kind::binary, 0, payload}}));
    std::string masked;
    append_masked_frame(masked, Opcode::binary, payload, mask);
    EXPECT_EQ(read(masked), (std::vector<Got>{{Kind::binary, 0, payload}}));
  }
}

TEST(WebSocketMask, IsTheSameAtEveryOffsetAndLength) {
  for (size_t size = 0; size < 80; ++size) {
    for (size_t at = 0; at < 5; ++at) {
      std::string bytes(size, '\0');
      std::string expected;
      for (size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<char>(i * 7);
        expected += static_cast<char>(bytes[i] ^ static_cast<char>(mask >> (8 * ((i + at) % 4))));
      }
      apply_mask(bytes, mask, at);
      EXPECT_EQ(bytes, expected) << size << " bytes from " << at;
    }
  }
}

TEST(WebSocketMask, SaysWhetherTheResultIsAscii) {
  for (size_t size = 1; size < 70; ++size) {
    std::string ascii(size, 'a');
    apply_mask(ascii, mask, 0);
    EXPECT_TRUE(apply_mask(ascii, mask, 0));
    for (size_t at = 0; at < size; ++at) {
      std::string other(size, 'a');
      other[at] = '\x80';
      apply_mask(other, mask, 0);
      EXPECT_FALSE(apply_mask(other, mask, 0)) << at << " of " << size;
    }
  }
}

// 5.1: a client masks, a server does not.
TEST(WebSocketReader, UnmaskedFrameFromClientIsRefused) {
  expect_failure(Frame{.payload = "a", .masked = false}.bytes(), 1002);
  expect_failure(Frame{.opcode = 9, .payload = "a", .masked = false}.bytes(), 1002);
}

TEST(WebSocketReader, MaskedFrameFromServerIsRefused) {
  expect_failure(text("a"), 1002, Side::client);
}

// 5.2: reserved bits and opcodes.
TEST(WebSocketReader, EachReservedBitIsRefused) {
  for (const uint8_t bit : std::initializer_list<uint8_t>{1, 2, 4}) {
    expect_failure(Frame{.payload = "a", .reserved = bit}.bytes(), 1002);
    expect_failure(Frame{.opcode = 9, .reserved = bit}.bytes(), 1002);
  }
}

TEST(WebSocketReader, EachReservedOpcodeIsRefused) {
  for (const uint8_t opcode : std::initializer_list<uint8_t>{3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    expect_failure(Frame{.opcode = opcode}.bytes(), 1002);
  }
}

// 5.2: "the minimal number of bytes MUST be used to encode the length".
TEST(WebSocketReader, LongerFormOfALengthIsRefused) {
  expect_failure(Frame{.payload = "", .length_bytes = 2}.bytes(), 1002);
  expect_failure(Frame{.payload = std::string(125, 'a'), .length_bytes = 2}.bytes(), 1002);
  expect_failure(Frame{.payload = std::string(125, 'a'), .length_bytes = 8}.bytes(), 1002);
  expect_failure(Frame{.payload = std::string(65535, 'a'), .length_bytes = 8}.bytes(), 1002);
}

// 5.2: "the most significant bit MUST be 0".
TEST(WebSocketReader, LengthWithItsHighestBitIsRefused) {
  expect_failure(std::string("\x82\xff\x80\0\0\0\0\0\0\1", 10), 1002);
}

TEST(WebSocketReader, MessageOverTheLimitIsTooBig) {
  expect_failure(std::string("\x82\xff\0\0\0\0\0\x10\0\0", 10), 1009);
  EXPECT_EQ(read(text(std::string(message_max, 'a'))).at(0).kind, Kind::text);
  expect_failure(text(std::string(message_max + 1, 'a')), 1009);
}

TEST(WebSocketReader, FragmentsThatAreTooBigTogetherAreTooBig) {
  const std::string part(message_max / 2, 'a');
  const std::string two = Frame{.payload = part, .fin = false}.bytes() +
                          Frame{.opcode = 0, .payload = part, .fin = false}.bytes();
  EXPECT_EQ(read(two + Frame{.opcode = 0}.bytes()).at(0).kind, Kind::text);
  expect_failure(two + Frame{.opcode = 0, .payload = "a"}.bytes(), 1009);
}

// 5.4: fragmentation.
TEST(WebSocketReader, FragmentsBecomeOneMessage) {
  const std::string bytes = Frame{.payload = "one ", .fin = false}.bytes() +
                            Frame{.opcode = 0, .payload = "two ", .fin = false}.bytes() +
                            Frame{.opcode = 0, .payload = "three"}.bytes() + text("next");
  EXPECT_EQ(read(bytes),
            (std::vector<Got>{{Kind::text, 0, "one two three"}, {Kind::text, 0, "next"}}));
}

TEST(WebSocketReader, FragmentsMayBeEmpty) {
  const std::string bytes = Frame{.opcode = 2, .fin = false}.bytes() +
                            Frame{.opcode = 0, .fin = false}.bytes() + Frame{.opcode = 0}.bytes();
  EXPECT_EQ(read(bytes), (std::vector<Got>{{Kind::binary, 0, ""}}));
}

TEST(WebSocketReader, EmptyMessageIsAMessage) {
  EXPECT_EQ(read(text("")), (std::vector<Got>{{Kind::text, 0, ""}}));
}

TEST(WebSocketReader, ControlFramesMayComeBetweenFragments) {
  const std::string bytes =
      Frame{.payload = "a", .fin = false}.bytes() + Frame{.opcode = 9, .payload = "p"}.bytes() +
      Frame{.opcode = 10, .payload = "q"}.bytes() + Frame{.opcode = 0, .payload = "b"}.bytes();
  EXPECT_EQ(read(bytes),
            (std::vector<Got>{{Kind::ping, 0, "p"}, {Kind::pong, 0, "q"}, {Kind::text, 0, "ab"}}));
}

TEST(WebSocketReader, CloseMayComeBetweenFragments) {
  const std::string bytes = Frame{.payload = "a", .fin = false}.bytes() + close_frame(1000);
  EXPECT_EQ(read(bytes), (std::vector<Got>{{Kind::close, 1000, ""}}));
}

TEST(WebSocketReader, ContinuationOfNothingIsRefused) {
  expect_failure(Frame{.opcode = 0, .payload = "a"}.bytes(), 1002);
  expect_failure(Frame{.opcode = 0, .payload = "a", .fin = false}.bytes(), 1002);
}

TEST(WebSocketReader, ContinuationAfterAWholeMessageIsRefused) {
  const std::vector<Got> got = read(text("a") + Frame{.opcode = 0}.bytes());
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].code, 1002);
}

TEST(WebSocketReader, NewMessageWithinAMessageIsRefused) {
  expect_failure(Frame{.payload = "a", .fin = false}.bytes() + text("b"), 1002);
  expect_failure(Frame{.opcode = 2, .fin = false}.bytes() + Frame{.opcode = 2}.bytes(), 1002);
}

// 5.5: control frames.
TEST(WebSocketReader, FragmentedControlFrameIsRefused) {
  for (const uint8_t opcode : std::initializer_list<uint8_t>{8, 9, 10}) {
    expect_failure(Frame{.opcode = opcode, .fin = false}.bytes(), 1002);
  }
}

TEST(WebSocketReader, ControlFrameHasAtMost125Bytes) {
  for (const uint8_t opcode : std::initializer_list<uint8_t>{8, 9, 10}) {
    expect_failure(Frame{.opcode = opcode, .payload = std::string(126, 'a')}.bytes(), 1002);
  }
  const std::string most(125, 'a');
  EXPECT_EQ(read(Frame{.opcode = 9, .payload = most}.bytes()),
            (std::vector<Got>{{Kind::ping, 0, most}}));
}

TEST(WebSocketReader, PingAndPongCarryAnyBytes) {
  const std::string bytes("\xff\x00\xc0", 3);
  EXPECT_EQ(read(Frame{.opcode = 9, .payload = bytes}.bytes()).at(0), (Got{Kind::ping, 0, bytes}));
  EXPECT_EQ(read(Frame{.opcode = 10, .payload = bytes}.bytes()).at(0), (Got{Kind::pong, 0, bytes}));
}

// 5.5.1 and 7.4: close.
TEST(WebSocketReader, CloseWithoutACodeIsNone) {
  EXPECT_EQ(read(Frame{.opcode = 8}.bytes()), (std::vector<Got>{{Kind::close, 1005, ""}}));
}

TEST(WebSocketReader, CloseWithOneByteIsRefused) {
  expect_failure(Frame{.opcode = 8, .payload = "\x03"}.bytes(), 1002);
}

TEST(WebSocketReader, CloseCarriesCodeAndReason) {
  EXPECT_EQ(read(close_frame(1001, "bye \xc3\xa9")),
            (std::vector<Got>{{Kind::close, 1001, "bye \xc3\xa9"}}));
}

TEST(WebSocketReader, CloseCodesAreTheOnesThatMayBeSent) {
  for (uint32_t code = 0; code <= 65535; ++code) {
    const bool valid = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                       (code >= 3000 && code <= 4999);
    ASSERT_EQ(CloseCode::may_be_sent(static_cast<uint16_t>(code)), valid) << code;
  }
  for (const uint16_t code :
       std::initializer_list<uint16_t>{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012,
                                       1014, 3000, 3999, 4000, 4999}) {
    EXPECT_EQ(read(close_frame(code)), (std::vector<Got>{{Kind::close, code, ""}}));
  }
  for (const uint16_t code : std::initializer_list<uint16_t>{0, 1, 999, 1004, 1005, 1006, 1015,
                                                             1016, 1100, 2000, 2999, 5000, 65535}) {
    expect_failure(close_frame(code), 1002);
  }
}

TEST(WebSocketReader, ReasonThatIsNotUtf8IsRefused) {
  expect_failure(close_frame(1000, "\xff"), 1007);
  expect_failure(close_frame(1000, "\xc3"), 1007);
}

TEST(WebSocketReader, NothingComesAfterClose) {
  FrameReader reader(Side::server, message_max);
  std::string bytes = close_frame(1000) + text("a");
  std::span<char> rest(bytes);
  EXPECT_EQ(reader.next(rest).kind, Kind::close);
  EXPECT_EQ(reader.next(rest).kind, Kind::need_more);
}

TEST(WebSocketReader, NothingComesAfterFailure) {
  FrameReader reader(Side::server, message_max);
  std::string bytes = Frame{.opcode = 3}.bytes() + text("a");
  std::span<char> rest(bytes);
  EXPECT_EQ(reader.next(rest).kind, Kind::failed);
  EXPECT_EQ(reader.next(rest).kind, Kind::need_more);
}

TEST(WebSocketClosePayload, CutsTheReasonBetweenCharacters) {
  EXPECT_EQ(close_payload(CloseCode::none, "x"), "");
  EXPECT_EQ(close_payload(1000, "bye"),
            "\x03\xe8"
            "bye");
  EXPECT_EQ(close_payload(1000, std::string(200, 'a')).size(), 125u);
  std::string reason(122, 'a');
  reason += "\xc3\xa9";
  EXPECT_EQ(close_payload(1000, reason).size(), 2 + 122u);
}

// 5.6 and 8.1: text is UTF-8.
TEST(WebSocketReader, TextSplitWithinACharacterIsWhole) {
  const std::string euro = "\xe2\x82\xac";
  for (size_t at = 0; at <= euro.size(); ++at) {
    const std::string bytes = Frame{.payload = euro.substr(0, at), .fin = false}.bytes() +
                              Frame{.opcode = 9}.bytes() +
                              Frame{.opcode = 0, .payload = euro.substr(at)}.bytes();
    EXPECT_EQ(read(bytes), (std::vector<Got>{{Kind::ping, 0, ""}, {Kind::text, 0, euro}}));
  }
}

TEST(WebSocketReader, TextThatIsNotUtf8IsRefused) {
  const std::string long_text(1000, 'a');
  for (const std::string bad : {"\x80", "\xc3", "\xc3\x28", "\xed\xa0\x80", "\xff"}) {
    expect_failure(text(bad), 1007);
    expect_failure(text(long_text + bad), 1007);
    expect_failure(text(bad + long_text), 1007);
    expect_failure(
        Frame{.payload = "a", .fin = false}.bytes() + Frame{.opcode = 0, .payload = bad}.bytes(),
        1007);
  }
}

TEST(WebSocketReader, TextIsRefusedBeforeItsFrameIsWhole) {
  const std::string bytes = text("\xff" + std::string(1000, 'a'));
  EXPECT_EQ(read_all(bytes.substr(0, 20)).at(0).code, 1007);
}

TEST(WebSocketReader, BinaryMayBeAnything) {
  const std::string bytes("\xff\xfe\x00\x80", 4);
  EXPECT_EQ(read(Frame{.opcode = 2, .payload = bytes}.bytes()).at(0),
            (Got{Kind::binary, 0, bytes}));
}

TEST(WebSocketReader, WholeMessageIsNotCopied) {
  FrameReader reader(Side::server, message_max);
  std::string bytes = text("where it lies");
  std::span<char> rest(bytes);
  const FrameReader::Event event = reader.next(rest);
  EXPECT_EQ(event.data.data(), bytes.data() + 6);
  EXPECT_TRUE(rest.empty());
}

TEST(WebSocketReader, LargeMessageInSmallPartsIsWhole) {
  std::string payload;
  for (size_t at = 0; at < message_max; ++at) {
    payload += static_cast<char>('a' + at % 26);
  }
  for (const size_t part : {1000u, 1023u, 65536u}) {
    const std::vector<Got> got = read_all(text(payload), part);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].data, payload);
  }
}

bool is_utf8(std::string_view bytes) {
  Utf8 whole;
  const bool valid = whole.feed(bytes) && whole.is_complete();
  Utf8 split;
  bool split_valid = true;
  for (size_t at = 0; at < bytes.size() && split_valid; ++at) {
    split_valid = split.feed(bytes.substr(at, 1));
  }
  EXPECT_EQ(split_valid && split.is_complete(), valid);
  return valid;
}

TEST(Utf8, EveryCharacterButSurrogatesIsValid) {
  for (uint32_t c = 0; c <= 0x10ffff; ++c) {
    std::string bytes;
    if (c < 0x80) {
      bytes = {static_cast<char>(c)};
    } else if (c < 0x800) {
      bytes = {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    } else if (c < 0x10000) {
      bytes = {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
               static_cast<char>(0x80 | (c & 0x3f))};
    } else {
      bytes = {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3f)),
               static_cast<char>(0x80 | (c >> 6 & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
    }
    ASSERT_EQ(is_utf8(bytes), c < 0xd800 || c > 0xdfff) << c;
  }
}

TEST(Utf8, OverlongFormsAndStrayBytesAreNot) {
  for (const std::string_view bad :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\x80", "\xbf", "a\x80",
        "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3\xc3", "\xe2\x28\xa1"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

// Any valid conversation, split anywhere, gives the same events.
TEST(WebSocketReader, SplitsChangeNothing) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::string bytes;
    for (int count = 0; count < 12; ++count) {
      const size_t size = random() % 3 == 0 ? random() % 70'000 : random() % 200;
      const uint8_t opcode = random() % 2 == 0 ? 1 : 2;
      std::string payload(size, static_cast<char>('a' + count));
      if (random() % 2 == 0) {
        bytes += Frame{.opcode = opcode, .payload = payload}.bytes();
      } else {
        bytes += Frame{.opcode = opcode, .payload = payload, .fin = false}.bytes();
        bytes += Frame{.opcode = 9, .payload = "ping"}.bytes();
        bytes += Frame{.opcode = 0, .payload = "end"}.bytes();
      }
    }
    const std::vector<Got> whole = read_all(bytes);
    EXPECT_EQ(read_all(bytes, 1 + random() % 5000), whole) << "seed " << seed;
  }
}

}  // namespace
}  // namespace parley::net
