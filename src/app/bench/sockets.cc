// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sockets.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "app/bench/bare.h"
#include "net/websocket.h"

namespace parley::app {

namespace {

constexpr size_t buffer_bytes = 512 * 1024;
constexpr size_t frame_bytes_max = 256 * 1024;  // of one frame that comes in
constexpr base::Duration connect_max = base::seconds(10);

volatile sig_atomic_t interrupted = 0;

std::unexpected<Failure> lost(std::string why) {
  return std::unexpected(Failure{"UNAVAILABLE",
                                 "the broker ended a WebSocket of the load" + std::move(why),
                                 "Look at the broker's log."});
}

// The length of a server's frame and where its text begins; 0 while its head is not whole.
struct FrameHead {
  size_t head = 0;
  uint64_t payload = 0;
};

FrameHead head_of(std::string_view bytes) {
  const auto at = [&](size_t n) { return static_cast<uint8_t>(bytes[n]); };
  if (bytes.size() < 2) {
    return {};
  }
  const uint8_t size = at(1) & 0x7f;
  if (size < 126) {
    return {2, size};
  }
  const size_t wide = size == 126 ? 2 : 8;
  if (bytes.size() < 2 + wide) {
    return {};
  }
  uint64_t payload = 0;
  for (size_t n = 0; n < wide; ++n) {
    payload = payload << 8 | at(2 + n);
  }
  return {2 + wide, payload};
}

}  // namespace

bool bench_interrupted() { return interrupted != 0; }

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

std::string frame_of(std::string_view text) {
  std::string frame;
  net::append_masked_frame(frame, net::Opcode::text, text, 0);
  return frame;
}

void BenchSocket::send(std::string_view text) {
  net::append_masked_frame(out, net::Opcode::text, text, 0);
}

char* BenchSocket::send_frame(std::string_view frame) {
  out.append(frame);
  return out.data() + out.size() - frame.size();
}

BenchSockets::BenchSockets()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), buffer_(buffer_bytes, '\0') {}

BenchSockets::~BenchSockets() { ::close(epoll_); }

std::expected<BenchSocket*, Failure> BenchSockets::open(const BrokerAddress& address,
                                                        uint32_t window) {
  const net::Deadline deadline(connect_max);
  const auto url = net::Url::parse(address.url);
  if (!url) {
    return std::unexpected(failure_of(url.error()));
  }
  auto dialed = net::Dialed::connect(*url, address.ca, deadline);
  if (!dialed) {
    return std::unexpected(failure_of(dialed.error()));
  }
  std::unique_ptr<BenchSocket> socket(new BenchSocket(std::move(*dialed), url->is_tls));
  socket->out = "GET " + url->prefix + "/v1/ws?window=" + std::to_string(window) +
                " HTTP/1.1\r\nHost: " + url->authority() +
                "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: cGFybGV5IGJlbmNobWFyaw==\r\nAuthorization: Bearer " +
                address.token + "\r\n\r\n";
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (const auto written = write(*socket); !written) {
      return std::unexpected(written.error());
    }
    size_t count = 0;
    std::array<char, 4096> some{};
    const auto outcome = socket->connection.try_read(some.data(), some.size(), count);
    head.append(some.data(), count);
    if (outcome == net::Dialed::Outcome::ended ||
        (outcome == net::Dialed::Outcome::nothing &&
         !socket->connection.wait(socket->out_at < socket->out.size(), deadline))) {
      return lost(" before it began");
    }
  }
  if (!head.starts_with("HTTP/1.1 101 ")) {
    return lost(" and answered " + head.substr(0, head.find('\r')));
  }
  socket->kept = head.substr(head.find("\r\n\r\n") + 4);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = socket.get()}};
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket->connection.fd(), &event) != 0) {
    return lost(std::string(": it cannot be watched: ") + std::strerror(errno));
  }
  return sockets_.emplace_back(std::move(socket)).get();
}

std::expected<void, Failure> BenchSockets::run_once(int64_t until_ns) {
  std::expected<void, Failure> result;
  for (const auto& socket : sockets_) {
    if (result && !socket->out.empty() && !socket->waits_to_write) {
      result = write(*socket);
    }
  }
  if (!result) {
    return result;
  }
  std::array<epoll_event, 256> events{};
  const int64_t left_ms = std::clamp<int64_t>((until_ns - now_ns() + 999'999) / 1'000'000, 0, 1000);
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(left_ms));
  if (bench_interrupted()) {
    return std::unexpected(Failure{"", "interrupted", {}});
  }
  now_ = now_ns();
  for (int n = 0; n < count && result; ++n) {
    BenchSocket& socket = *static_cast<BenchSocket*>(events[static_cast<size_t>(n)].data.ptr);
    const uint32_t what = events[static_cast<size_t>(n)].events;
    if ((what & ~uint32_t{EPOLLOUT}) != 0) {
      result = read(socket);
    }
    if (result && !socket.out.empty()) {
      result = write(socket);
    }
  }
  return result;
}

std::expected<void, Failure> BenchSockets::read(BenchSocket& socket) {
  size_t room = 0;
  size_t count = 0;
  do {
    const size_t kept = socket.kept.size();
    std::ranges::copy(socket.kept, buffer_.begin());
    room = buffer_.size() - kept;
    const auto outcome = socket.connection.try_read(buffer_.data() + kept, room, count);
    if (outcome == net::Dialed::Outcome::ended) {
      return lost("");
    }
    if (count == 0) {
      break;
    }
    now_ = now_ns();
    if (auto good = hand_out(socket, std::string_view(buffer_).substr(0, kept + count)); !good) {
      return good;
    }
    // TLS may hold more than the socket shows.
  } while (count == room || socket.tls);
  socket.on_burst();
  return {};
}

std::expected<void, Failure> BenchSockets::hand_out(BenchSocket& socket, std::string_view bytes) {
  while (true) {
    const FrameHead frame = head_of(bytes);
    if (frame.payload > frame_bytes_max) {
      return lost(": it sent a frame that is too large");
    }
    if (frame.head == 0 || bytes.size() < frame.head + frame.payload) {
      break;
    }
    const std::string_view payload = bytes.substr(frame.head, frame.payload);
    switch (static_cast<net::Opcode>(bytes[0] & 0x0f)) {
      case net::Opcode::text:
        socket.on_text(payload);
        break;
      case net::Opcode::ping:
        net::append_masked_frame(socket.out, net::Opcode::pong, payload, 0);
        break;
      case net::Opcode::pong:
        break;
      case net::Opcode::close:
        return lost(payload.size() > 2 ? ": " + std::string(payload.substr(2)) : "");
      case net::Opcode::continuation:
      case net::Opcode::binary:
        return lost(": it sent a frame of a kind that a broker does not send");
    }
    bytes.remove_prefix(frame.head + frame.payload);
  }
  socket.kept.assign(bytes);
  return {};
}

std::expected<void, Failure> BenchSockets::write(BenchSocket& socket) {
  while (socket.out_at < socket.out.size()) {
    size_t count = 0;
    const auto outcome =
        socket.connection.try_write(std::string_view(socket.out).substr(socket.out_at), count);
    socket.out_at += count;
    if (outcome == net::Dialed::Outcome::ended) {
      return lost("");
    }
    if (outcome == net::Dialed::Outcome::nothing) {
      break;
    }
  }
  const bool waits = socket.out_at < socket.out.size();
  if (!waits) {
    socket.out.clear();
    socket.out_at = 0;
  }
  if (waits != socket.waits_to_write) {
    socket.waits_to_write = waits;
    epoll_event event{.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.ptr = &socket}};
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket.connection.fd(), &event);
  }
  return {};
}

}  // namespace parley::app
