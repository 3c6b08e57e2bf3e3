// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "base/hash.h"
#include "net/client/client.h"
#include "net/client/dial.h"
#include "net/http.h"
#include "net/websocket.h"

namespace parley::net {

namespace {

using base::Code;

constexpr size_t read_bytes_max = 256 * 1024;
// So much may come in while we send and nobody reads.
constexpr size_t unread_bytes_max = 64 * 1024 * 1024;
constexpr size_t message_bytes_max = 64 * 1024 * 1024;

// Sixteen random bytes as base64. No secret: the answer to them shows that the server speaks
// WebSocket.
std::string make_key(std::random_device& random) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string key;
  for (int at = 0; at < 21; ++at) {
    key += digits[random() % 64];
  }
  key += digits[random() % 4 * 16];  // two bits of the last byte
  return key + "==";
}

}  // namespace

class WebSocketClient::State {
 public:
  State(Url url, Dialed dialed, uint64_t seed)
      : url_(std::move(url)),
        dialed_(std::move(dialed)),
        masks_(seed),
        frames_(Side::client, message_bytes_max) {}

  std::expected<void, Error> upgrade(const Place& place, std::string_view path,
                                     const std::string& key, const Deadline& deadline);
  void append(Opcode opcode, std::string_view payload) {
    append_masked_frame(out_, opcode, payload, next_mask());
  }
  std::expected<void, Error> flush(const Deadline& deadline);
  // The next message, or a close frame as an error.
  std::expected<std::optional<std::string_view>, Error> receive(const Deadline& deadline);

 private:
  // The author of a text must not be able to guess its mask: RFC 6455, 10.3.
  uint32_t next_mask() {
    masks_ = base::mix64(masks_, ++mask_count_);
    return static_cast<uint32_t>(masks_ >> 16);
  }
  // Reads once without waiting. False when nothing was there or nothing more fits.
  std::expected<bool, Error> read();

  Url url_;
  Dialed dialed_;
  uint64_t masks_;
  uint64_t mask_count_ = 0;
  FrameReader frames_;
  std::string out_;
  std::string in_;
  size_t in_at_ = 0;  // what is before it was taken
  std::optional<Error> closed_;
};

std::expected<void, Error> WebSocketClient::State::upgrade(const Place& place,
                                                           std::string_view path,
                                                           const std::string& key,
                                                           const Deadline& deadline) {
  out_ = fmt::format(
      "GET {}{} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n",
      url_.prefix, path, url_.authority(), key);
  if (!place.token.empty()) {
    out_ += fmt::format("Authorization: Bearer {}\r\n", place.token);
  }
  out_ += "\r\n";
  if (auto sent = flush(deadline); !sent) {
    return sent;
  }
  ResponseParser parser({.header_bytes_max = 64 * 1024, .body_bytes_max = 1024 * 1024}, false);
  while (true) {
    in_at_ += parser.feed(std::string_view(in_).substr(in_at_));
    if (parser.state() != RequestParser::State::need_more) {
      break;
    }
    auto some = read();
    if (!some) {
      return std::unexpected(some.error());
    }
    if (!*some && !dialed_.wait(false, deadline)) {
      return std::unexpected(no_answer_in_time(url_));
    }
  }
  if (parser.state() == RequestParser::State::failed) {
    return std::unexpected(parser.error());
  }
  if (parser.status() != 101) {
    return std::unexpected(Error{Code::unavailable,
                                 fmt::format("{} refuses the WebSocket with status {}: {}",
                                             url_.text, parser.status(), parser.body()),
                                 {}});
  }
  for (const auto& [name, value] : parser.headers()) {
    if (name == "sec-websocket-accept" && value == websocket_accept(key)) {
      return {};
    }
  }
  return std::unexpected(
      Error{Code::unavailable, fmt::format("{} is no WebSocket server", url_.text), {}});
}

std::expected<bool, Error> WebSocketClient::State::read() {
  if (in_at_ > 0) {
    in_.erase(0, in_at_);
    in_at_ = 0;
  }
  const size_t before = in_.size();
  if (before >= unread_bytes_max) {
    return false;
  }
  size_t count = 0;
  Dialed::Outcome outcome = Dialed::Outcome::nothing;
  // Not `resize`, which would write a quarter of a megabyte of zeros for every small message.
  in_.resize_and_overwrite(before + read_bytes_max, [&](char* data, size_t) {
    outcome = dialed_.try_read(data + before, read_bytes_max, count);
    return before + count;
  });
  if (outcome == Dialed::Outcome::ended) {
    return std::unexpected(connection_lost(url_));
  }
  return count > 0;
}

std::expected<void, Error> WebSocketClient::State::flush(const Deadline& deadline) {
  size_t at = 0;
  std::expected<void, Error> result;
  while (at < out_.size() && result) {
    size_t count = 0;
    switch (dialed_.try_write(std::string_view(out_).substr(at), count)) {
      case Dialed::Outcome::done:
        at += count;
        break;
      case Dialed::Outcome::nothing:
        if (!dialed_.wait(true, deadline)) {
          result = std::unexpected(no_answer_in_time(url_));
        } else if (auto some = read(); !some) {
          result = std::unexpected(some.error());
        }
        break;
      case Dialed::Outcome::ended:
        result = std::unexpected(connection_lost(url_));
        break;
    }
  }
  out_.erase(0, at);
  return result;
}

std::expected<std::optional<std::string_view>, Error> WebSocketClient::State::receive(
    const Deadline& deadline) {
  while (!closed_) {
    // What is there comes first: the peer may have said why it closes.
    std::span<char> bytes = std::span(in_).subspan(in_at_);
    const FrameReader::Event event = frames_.next(bytes);
    in_at_ = in_.size() - bytes.size();
    switch (event.kind) {
      case FrameReader::Kind::text:
      case FrameReader::Kind::binary:
        return event.data;
      case FrameReader::Kind::ping:
        append(Opcode::pong, event.data);
        break;
      case FrameReader::Kind::pong:
        break;
      case FrameReader::Kind::close:
        append(Opcode::close, close_payload(event.code, {}));
        (void)flush(deadline);
        closed_ = Error{Code::unavailable,
                        fmt::format("{} closed the WebSocket with code {}: {}", url_.text,
                                    event.code, event.data),
                        {}};
        break;
      case FrameReader::Kind::failed:
        append(Opcode::close, close_payload(event.code, event.data));
        (void)flush(deadline);
        closed_ = Error{Code::unavailable,
                        fmt::format("{} breaks the WebSocket protocol: {}", url_.text, event.data),
                        {}};
        break;
      case FrameReader::Kind::need_more: {
        // Bytes that could not be sent in time stay for the next call.
        auto sent = flush(deadline);
        if (!sent && sent.error().code != Code::timeout) {
          return std::unexpected(sent.error());
        }
        auto some = read();
        if (!some) {
          return std::unexpected(some.error());
        }
        if (!*some && !dialed_.wait(false, deadline)) {
          return std::nullopt;
        }
        break;
      }
    }
  }
  return std::unexpected(*closed_);
}

std::expected<WebSocketClient, Error> WebSocketClient::connect(const Place& place,
                                                               std::string_view path,
                                                               Duration timeout) {
  const Deadline deadline(timeout);
  auto url = Url::parse(place.url);
  if (!url) {
    return std::unexpected(url.error());
  }
  auto dialed = Dialed::connect(*url, place.trusted_file, deadline);
  if (!dialed) {
    return std::unexpected(dialed.error());
  }
  std::random_device random;
  const uint64_t seed = uint64_t{random()} << 32 | random();
  auto state = std::make_unique<State>(std::move(*url), std::move(*dialed), seed);
  if (auto upgraded = state->upgrade(place, path, make_key(random), deadline); !upgraded) {
    return std::unexpected(upgraded.error());
  }
  return WebSocketClient(std::move(state));
}

WebSocketClient::WebSocketClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
WebSocketClient::WebSocketClient(WebSocketClient&&) noexcept = default;
WebSocketClient& WebSocketClient::operator=(WebSocketClient&&) noexcept = default;
WebSocketClient::~WebSocketClient() = default;

void WebSocketClient::send(std::string_view text) { state_->append(Opcode::text, text); }

std::expected<void, Error> WebSocketClient::flush(Duration timeout) {
  return state_->flush(Deadline(timeout));
}

std::expected<std::optional<std::string_view>, Error> WebSocketClient::receive(Duration timeout) {
  return state_->receive(Deadline(timeout));
}

std::expected<void, Error> WebSocketClient::close(uint16_t code, std::string_view reason,
                                                  Duration timeout) {
  const Deadline deadline(timeout);
  state_->append(Opcode::close, close_payload(code, reason));
  while (true) {
    auto message = state_->receive(deadline);
    if (!message) {
      // The peer's close frame, or the end of the connection, is an error of `receive`.
      return {};
    }
    if (!*message) {
      return std::unexpected(Error{Code::timeout, "the peer did not close in time", {}});
    }
  }
}

}  // namespace parley::net
