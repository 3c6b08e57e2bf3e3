// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/client.h"
#include "net/client/dial.h"

namespace parley::app {

// Set when the user wants an end: SIGINT or SIGTERM.
bool bench_interrupted();
void catch_interrupts();

// One WebSocket of a load. Not net::WebSocketClient, which waits: here one thread drives hundreds,
// and must stay cheaper than the broker that it measures.
struct Wire {
  // Each text message that came in. The view is good during the call.
  std::function<void(std::string_view text)> on_text = [](std::string_view) {};
  // After the messages that came in at once: the moment to answer them all.
  std::function<void()> on_burst = [] {};

  // Adds a message to those that leave with the end of the turn.
  void send(std::string_view text);
  // A whole frame made before by `frame_of`: copied as it is. Returns where it lies.
  char* send_frame(std::string_view frame);

 private:
  friend class Wires;
  explicit Wire(net::Dialed dialed, bool is_tls) : socket(std::move(dialed)), tls(is_tls) {}

  net::Dialed socket;
  bool tls;
  std::string out;
  size_t out_at = 0;
  std::string kept;  // the beginning of a frame whose rest has not come
  bool waits_to_write = false;
};

// A client's frame. Its mask is zero, which RFC 6455 allows: the mask protects proxies from text
// that others chose, and here nobody else chooses any.
std::string frame_of(std::string_view text);

// All WebSockets of a load and their loop.
class Wires {
 public:
  Wires();
  ~Wires();
  Wires(const Wires&) = delete;
  Wires& operator=(const Wires&) = delete;

  // Connects and upgrades. It lives as long as this, or until `clear`.
  std::expected<Wire*, Failure> open(const BrokerAddress& target, uint32_t window);
  void clear();

  // One turn: writes what was added, waits for input until `until_ns` at most, hands it out, and
  // writes what was added by that. Fails when a connection ends or the user interrupts.
  std::expected<void, Failure> turn(int64_t until_ns);

  // When the input came that is being handed out, or else when the turn began.
  int64_t now() const { return now_; }

 private:
  std::expected<void, Failure> read(Wire& wire);
  std::expected<void, Failure> hand_out(Wire& wire, std::string_view bytes);
  std::expected<void, Failure> write(Wire& wire);

  int epoll_ = -1;
  int64_t now_ = 0;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::string buffer_;
};

}  // namespace parley::app
