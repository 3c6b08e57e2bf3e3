// SPDX-License-Identifier: Apache-2.0
// Any bytes on a connection: never a crash, never more kept or buffered than the limits allow, and
// the same requests however the bytes are split. The first byte chooses the splits, the second what
// the handler does; the rest is what the client sends.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "net/connection/connection.h"

namespace parley {
namespace {

constexpr net::Server::Limits limits{.header_bytes_max = 512,
                                     .body_bytes_max = 1024,
                                     .message_bytes_max = 1024,
                                     .pipelined_max = 4,
                                     .buffered_max = 4096};

// A client that sends `bytes` in parts, and a handler that answers at once or later.
class Run final : public net::Handler {
 public:
  Run(uint64_t split_seed, uint8_t choice) : seed_(split_seed), choice_(choice) {
    around_.limits = limits;
    around_.handler = this;
    around_.now = base::Time{1'000'000};
    around_.date = "now";
    connection_.emplace(1, around_);
  }

  void go(std::string_view bytes) {
    while (!bytes.empty() && connection_->phase() != net::Connection::Phase::dead) {
      size_t part = bytes.size();
      if (seed_ != 0) {
        seed_ = base::mix64(seed_, bytes.size());
        part = std::min<size_t>(part, 1 + seed_ % 24);
      }
      std::string fed = connection_->kept() + std::string(bytes.substr(0, part));
      bytes.remove_prefix(part);
      connection_->feed(fed);
      turn();
    }
    connection_->input_ended();
    turn();
  }

  std::vector<std::string> heard;

 private:
  // Answers, reads all that is written, and lets the connection go on.
  void turn() {
    while (connection_->phase() != net::Connection::Phase::dead) {
      for (const uint64_t number : std::exchange(waiting_, {})) {
        connection_->respond(number, {200, "text/plain", "late", {}});
      }
      CHECK(connection_->buffered() <= 2 * limits.buffered_max + 2048);
      if (const size_t size = connection_->output().size(); size > 0) {
        connection_->wrote(size);
      }
      connection_->tick();
      if (connection_->kept().empty() || !connection_->wants_input() || !waiting_.empty()) {
        break;
      }
      const std::string before = connection_->kept();
      connection_->resume();
      if (connection_->kept() == before && waiting_.empty()) {
        break;
      }
    }
    CHECK(waiting_.empty() || connection_->phase() == net::Connection::Phase::dead);
    connection_->end_of_turn();
  }

  net::CallerId on_head(const net::Request& head) override {
    CHECK(head.body.empty());
    return choice_ / 4 % 2 == 0 || !head.path.starts_with("/s") ? 1 : 0;
  }
  void on_request(const net::Exchange& exchange, const net::Request& request) override {
    heard.push_back(std::string(request.method) + " " + std::string(request.path) + "?" +
                    std::string(request.query) + " " + std::string(request.body) + " " +
                    std::string(request.header("host")));
    CHECK(request.body.size() <= limits.body_bytes_max);
    if (request.wants_websocket && choice_ % 2 == 0) {
      connection_->accept_websocket(exchange.number, {});
    } else if (request.path == "/stream") {
      connection_->start_stream(exchange.number, {200, "text/event-stream", "", {}});
      connection_->send("data");
    } else if (choice_ / 2 % 2 == 0) {
      connection_->respond(exchange.number, {200, "text/plain", "now", {}});
    } else {
      waiting_.push_back(exchange.number);
    }
  }
  void on_message(net::ConnectionId, std::string_view text) override {
    CHECK(text.size() <= limits.message_bytes_max);
    heard.emplace_back(text);
    connection_->send(text);
  }
  void on_closed(net::ConnectionId) override {}
  void on_drained(net::ConnectionId) override {}
  base::Time on_turn() override { return base::time_max; }

  net::Surroundings around_;
  std::optional<net::Connection> connection_;
  uint64_t seed_;
  uint8_t choice_;
  std::vector<uint64_t> waiting_;
};

void run(std::string_view bytes) {
  if (bytes.size() < 2) {
    return;
  }
  const uint64_t seed = 1 + static_cast<uint8_t>(bytes[0]);
  const auto choice = static_cast<uint8_t>(bytes[1]);
  bytes.remove_prefix(2);
  Run whole(0, choice);
  whole.go(bytes);
  Run split(seed, choice);
  split.go(bytes);
  CHECK(whole.heard == split.heard);
}

}  // namespace
}  // namespace parley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  parley::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
