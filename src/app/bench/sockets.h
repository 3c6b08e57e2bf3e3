// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/client/client.h"
#include "net/client/dial.h"

namespace parley::app {

// True once the user asked for an end with SIGINT or SIGTERM.
bool bench_interrupted();
void catch_interrupts();

// One WebSocket of a load. Not net::WebSocketClient, which waits: here one thread drives hundreds,
// and must stay cheaper than the broker that it measures.
struct BenchSocket {
  // Called for each text message that came in. The view is good during the call.
  std::function<void(std::string_view text)> on_text = [](std::string_view) {};
  // Called after the messages that came in at once: the moment to answer them all.
  std::function<void()> on_burst = [] {};

  // Adds a message to those that the next `run_once` writes.
  void send(std::string_view text);
  // Adds a whole frame that `frame_of` made. Returns where its copy lies.
  char* send_frame(std::string_view frame);

 private:
  friend class BenchSockets;
  explicit BenchSocket(net::Dialed dialed, bool is_tls)
      : connection(std::move(dialed)), tls(is_tls) {}

  net::Dialed connection;
  bool tls;
  std::string out;
  size_t out_at = 0;
  std::string kept;  // the beginning of a frame whose rest has not come
  bool waits_to_write = false;
};

// A client's frame. Its mask is zero, which RFC 6455 allows: the mask protects proxies from text
// that others chose, and here nobody else chooses any.
std::string frame_of(std::string_view text);

// All WebSockets of a load, and the loop that serves them.
class BenchSockets {
 public:
  BenchSockets();
  ~BenchSockets();
  BenchSockets(const BenchSockets&) = delete;
  BenchSockets& operator=(const BenchSockets&) = delete;

  // Connects and upgrades. The socket lives as long as this object.
  std::expected<BenchSocket*, Failure> open(const BrokerAddress& address, uint32_t window);

  // Writes what was added, waits for input until `until_ns` at most, hands it out, and writes what
  // was added by that. Fails when a connection ends or the user interrupts.
  std::expected<void, Failure> run_once(int64_t until_ns);

  // When the input came that is being handed out, or else when `run_once` began.
  int64_t now() const { return now_; }

 private:
  std::expected<void, Failure> read(BenchSocket& socket);
  std::expected<void, Failure> hand_out(BenchSocket& socket, std::string_view bytes);
  std::expected<void, Failure> write(BenchSocket& socket);

  int epoll_ = -1;
  int64_t now_ = 0;
  std::vector<std::unique_ptr<BenchSocket>> sockets_;
  std::string buffer_;
};

}  // namespace parley::app
