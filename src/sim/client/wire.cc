// SPDX-License-Identifier: Apache-2.0
#include "sim/client/wire.h"

#include <algorithm>
#include <span>

namespace parley::edge_sim {

namespace {

constexpr net::ResponseParser::Limits answer_limits{.header_bytes_max = 64 * 1'024,
                                                    .body_bytes_max = 16 * 1'024 * 1'024};

Reply reply_of(net::ResponseParser& parser) {
  return {.lost = false,
          .status = parser.status(),
          .body = std::move(parser.body()),
          .headers = parser.headers()};
}

}  // namespace

std::string_view Reply::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (net::equal_ignoring_case(key, name)) {
      return value;
    }
  }
  return {};
}

std::string request_text(const Ask& ask, std::string_view token) {
  std::string text = ask.method + " " + ask.target + " HTTP/1.1\r\nHost: localhost\r\n";
  if (!token.empty()) {
    text.append("Authorization: Bearer ").append(token).append("\r\n");
  }
  for (const auto& [name, value] : ask.headers) {
    text.append(name).append(": ").append(value).append("\r\n");
  }
  if (!ask.body.empty() || ask.method != "GET") {
    text += "Content-Length: " + std::to_string(ask.body.size()) + "\r\n";
  }
  return text + "\r\n" + ask.body;
}

void Wire::pump(size_t bytes_max) {
  if (over_) {
    return;
  }
  const size_t size = std::min(bytes_max, pipe_->down.size());
  if (size > 0) {
    const std::string bytes = pipe_->down.substr(0, size);
    pipe_->down.erase(0, size);
    if (pipe_->notebook != nullptr) {
      pipe_->notebook->append(bytes);
    }
    take(bytes);
  }
  if (!over_ && pipe_->down.empty() && (pipe_->server_ended || pipe_->server_gone)) {
    over_ = true;
    ended();
  }
}

void CallWire::ask(const Ask& ask, std::string_view token, Done done, OnEvent on_event) {
  if (over_) {
    done({.lost = true});
    return;
  }
  waiting_.push_back({std::move(done), std::move(on_event), ask.method == "HEAD"});
  write(request_text(ask, token));
}

void CallWire::take(std::string_view bytes) {
  unparsed_.append(bytes);
  while (!unparsed_.empty() && !waiting_.empty()) {
    if (!parser_) {
      parser_.emplace(answer_limits, waiting_.front().is_head);
    }
    const size_t used = parser_->feed(unparsed_);
    unparsed_.erase(0, used);
    if (parser_->has_header() && parser_->status() == 200 && waiting_.front().on_event &&
        parser_->header("content-type").starts_with("text/event-stream")) {
      streaming_ = true;
      take_events();
    }
    if (parser_->state() == net::RequestParser::State::failed) {
      over_ = true;
      ended();
      return;
    }
    if (parser_->state() == net::RequestParser::State::complete) {
      finish();
    } else if (used == 0) {
      return;
    }
  }
}

void CallWire::take_events() {
  events_ += std::exchange(parser_->body(), {});
  for (size_t end = events_.find("\n\n"); end != std::string::npos; end = events_.find("\n\n")) {
    const std::string event = events_.substr(0, end + 1);
    events_.erase(0, end + 2);
    std::string id;
    std::string data;
    for (size_t at = 0; at < event.size();) {
      const size_t line_end = event.find('\n', at);
      const std::string_view line = std::string_view(event).substr(at, line_end - at);
      at = line_end + 1;
      if (line.starts_with("id: ")) {
        id = line.substr(4);
      } else if (line.starts_with("data: ")) {
        data.append(data.empty() ? "" : "\n").append(line.substr(6));
      }
    }
    if (!data.empty() || !id.empty()) {
      waiting_.front().on_event(id, data);
    }
  }
  if (events_.empty()) {
    heard();
  }
}

void CallWire::finish() {
  const Reply reply = reply_of(*parser_);
  const bool keeps = parser_->keep_alive();
  const Done done = std::move(waiting_.front().done);
  waiting_.pop_front();
  parser_.reset();
  streaming_ = false;
  if (unparsed_.empty()) {
    heard();
  }
  done(reply);
  if (!keeps && !over_) {
    over_ = true;
    ended();
  }
}

void CallWire::ended() {
  std::deque<Waiting> waiting;
  waiting.swap(waiting_);
  for (const Waiting& each : waiting) {
    each.done({.lost = true});
  }
}

SocketWire::SocketWire(std::shared_ptr<BytePipe> pipe, const Ask& ask, std::string_view token,
                       Heard heard, sim::Random& random)
    : Wire(std::move(pipe)), heard_(std::move(heard)), random_(random) {
  Ask upgrade = ask;
  upgrade.headers.emplace_back("Connection", "Upgrade");
  upgrade.headers.emplace_back("Upgrade", "websocket");
  upgrade.headers.emplace_back("Sec-WebSocket-Version", "13");
  upgrade.headers.emplace_back("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  write(request_text(upgrade, token));
}

void SocketWire::send(std::string_view text) {
  std::string frame;
  net::append_masked_frame(frame, net::Opcode::text, text, static_cast<uint32_t>(random_.next()));
  write(frame);
}

void SocketWire::close() {
  std::string frame;
  net::append_masked_frame(frame, net::Opcode::close,
                           net::close_payload(net::CloseCode::normal, {}),
                           static_cast<uint32_t>(random_.next()));
  write(frame);
}

void SocketWire::take(std::string_view bytes) {
  bytes_.append(bytes);
  if (!open_) {
    net::ResponseParser parser(answer_limits, false);
    const size_t end = bytes_.find("\r\n\r\n");
    if (end == std::string::npos) {
      return;
    }
    if (bytes_.starts_with("HTTP/1.1 101")) {
      open_ = true;
      bytes_.erase(0, end + 4);
    } else {
      parser.feed(bytes_);
      if (parser.state() == net::RequestParser::State::complete) {
        told_ = true;
        over_ = true;
        heard_.on_end(reply_of(parser));
      }
      return;
    }
  }
  take_frames();
}

void SocketWire::take_frames() {
  std::span<char> rest(bytes_);
  while (!over_) {
    const net::FrameReader::Event event = reader_.next(rest);
    if (event.kind == net::FrameReader::Kind::need_more) {
      break;
    }
    switch (event.kind) {
      case net::FrameReader::Kind::text:
        heard_.on_text(event.data);
        break;
      case net::FrameReader::Kind::ping: {
        std::string frame;
        net::append_masked_frame(frame, net::Opcode::pong, event.data, 1);
        write(frame);
        break;
      }
      case net::FrameReader::Kind::close:
      case net::FrameReader::Kind::failed:
        told_ = true;
        over_ = true;
        heard_.on_end({.lost = false, .status = event.code, .body = std::string(event.data)});
        break;
      default:
        break;
    }
  }
  bytes_.erase(0, bytes_.size() - rest.size());
}

void SocketWire::ended() {
  if (!told_) {
    told_ = true;
    heard_.on_end({.lost = true});
  }
}

}  // namespace parley::edge_sim
