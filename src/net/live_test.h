// SPDX-License-Identifier: Apache-2.0
#pragma once

// Over 150 lines: what all tests with sockets share, in one place and inline.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "net/client/dial.h"
#include "net/problem_test.h"
#include "net/socket_server.h"
#include "net/websocket.h"

namespace parley::net {

// Long enough for a loaded machine: a test that reaches it fails.
constexpr Duration test_patience = base::seconds(60);

// A server on a free port of the loopback, in a thread of its own, with a handler for tests:
//   /ws        a WebSocket that sends each message back
//   /count     a WebSocket that answers once per turn with how many messages came in it
//   /stream    a stream without an end; `flood` fills it
//   /busy      takes a millisecond of the server's thread
//   /number    how many requests there were with this one
//   /later     answered when `answer_later` is called
//   else       the method, path, query and body
//
// It is whole before its thread begins, which is why nothing may derive from it.
class LiveServer final : public Handler {
 public:
  // `turn_every`: asks for a turn so long after each.
  explicit LiveServer(SocketServer::Options options = {}, Duration turn_every = {})
      : turn_every_(turn_every) {
    options.port = 0;
    auto made = SocketServer::listen(options, *this);
    EXPECT_TRUE(made.has_value()) << made.error().detail;
    server_ = std::move(*made);
    scheme_ = options.tls_certificate.empty() ? "http" : "https";
    thread_ = std::thread([this] { server_->run(); });
  }
  ~LiveServer() override { stop(); }

  void stop() {
    if (thread_.joinable()) {
      server_->stop();
      thread_.join();
    }
  }
  std::string url() const { return scheme_ + "://127.0.0.1:" + std::to_string(server_->port()); }
  SocketServer& server() { return *server_; }

  // Runs `work` on the server's thread and waits for it.
  template <class Work>
  auto on_thread(const Work& work) {
    // Held by both: who waits may go on before set_value has returned.
    const auto done = std::make_shared<std::promise<decltype(work())>>();
    server_->post([&work, done] {
      if constexpr (std::is_void_v<decltype(work())>) {
        work();
        done->set_value();
      } else {
        done->set_value(work());
      }
    });
    return done->get_future().get();
  }
  void answer_later() {
    on_thread([&] {
      for (const Exchange& exchange : later) {
        server_->respond(exchange, {200, "text/plain", "late", {}});
      }
      later.clear();
    });
  }
  // Waits, turn by turn, until the condition holds on the server's thread.
  void wait_until(const std::function<bool()>& condition) {
    const Deadline deadline(test_patience);
    while (!on_thread(condition)) {
      ASSERT_GT(deadline.left_ms(), 0);
      std::this_thread::yield();
    }
  }

  CallerId on_head(const Request& head) override {
    return head.header("x-stranger").empty() ? 1 : 0;
  }
  void on_request(const Exchange& exchange, const Request& request) override {
    open.insert(exchange.connection);
    ++requests;
    if (request.path == "/ws" || request.path == "/count") {
      counts_[exchange.connection] = request.path == "/count" ? 0 : -1;
      server_->accept_websocket(exchange);
    } else if (request.path == "/stream") {
      server_->start_stream(exchange, {200, "text/event-stream", "", {}});
      streams.push_back(exchange.connection);
    } else if (request.path == "/later") {
      later.push_back(exchange);
    } else if (request.path == "/busy") {
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
      while (std::chrono::steady_clock::now() < until) {
      }
      server_->respond(exchange, {200, "text/plain", "busy", {}});
    } else if (request.path == "/number") {
      server_->respond(exchange,
                       {200, "text/plain", "number " + std::to_string(requests) + ";", {}});
    } else if (request.path == "/large") {
      server_->respond(exchange, {200, "text/plain", std::string(1'000'000, 'L'), {}});
    } else {
      server_->respond(exchange,
                       {200,
                        "text/plain",
                        std::string(request.method) + " " + std::string(request.path) + " " +
                            std::string(request.query) + " " + std::string(request.body),
                        {}});
    }
  }
  void on_message(ConnectionId connection, std::string_view text) override {
    ++messages;
    int64_t& count = counts_[connection];
    if (count < 0) {
      server_->send(connection, text);
    } else {
      ++count;
    }
  }
  void on_closed(ConnectionId connection) override {
    open.erase(connection);
    counts_.erase(connection);
    std::erase(streams, connection);
    ++closed;
  }
  void on_drained(ConnectionId) override { ++drained; }
  Response problem(const Error& error) override { return problem_for_tests(error); }
  bool is_behind() const override { return behind; }
  Time on_turn() override {
    ++turns;
    for (auto& [connection, count] : counts_) {
      if (count > 0) {
        server_->send(connection, std::to_string(count));
        count = 0;
      }
    }
    return turn_every_ == Duration{} ? base::time_max : base::SystemClock().now() + turn_every_;
  }

  // Of the server's thread.
  std::set<ConnectionId> open;
  std::vector<ConnectionId> streams;
  std::vector<Exchange> later;
  size_t requests = 0;
  size_t messages = 0;
  size_t closed = 0;
  size_t drained = 0;
  std::atomic<bool> behind = false;
  std::atomic<size_t> turns = 0;  // can be looked at from anywhere: asking the server is a turn

 private:
  std::unique_ptr<SocketServer> server_;
  std::string scheme_;
  const Duration turn_every_;
  std::thread thread_;
  std::map<ConnectionId, int64_t> counts_;  // -1: echo
};

// A client that sends any bytes and reads any bytes.
class RawClient {
 public:
  explicit RawClient(const std::string& url, const std::string& trusted_file = {}) {
    auto made = Dialed::connect(*Url::parse(url), trusted_file, Deadline(test_patience));
    EXPECT_TRUE(made.has_value()) << made.error().detail;
    dialed_ = std::move(*made);
  }

  void send(std::string_view bytes) {
    const Deadline deadline(test_patience);
    while (!bytes.empty()) {
      size_t count = 0;
      const auto outcome = dialed_->try_write(bytes, count);
      ASSERT_NE(outcome, Dialed::Outcome::ended);
      bytes.remove_prefix(count);
      if (outcome == Dialed::Outcome::nothing) {
        ASSERT_TRUE(dialed_->wait(true, deadline));
      }
    }
  }
  // Sends what the socket takes now.
  size_t send_some(std::string_view bytes) {
    size_t count = 0;
    (void)dialed_->try_write(bytes, count);
    return count;
  }
  // Reads until `done` says so; false when the peer ended first.
  bool read_until(const std::function<bool(const std::string&)>& done) {
    const Deadline deadline(test_patience);
    std::string buffer(64 * 1024, '\0');
    while (!done(got)) {
      size_t count = 0;
      const auto outcome = dialed_->try_read(buffer.data(), buffer.size(), count);
      got.append(buffer, 0, count);
      if (outcome == Dialed::Outcome::ended) {
        return done(got);
      }
      if (outcome == Dialed::Outcome::nothing && !dialed_->wait(false, deadline)) {
        ADD_FAILURE() << "nothing came in time; so far: " << got.substr(0, 500);
        return false;
      }
    }
    return true;
  }
  bool read_until_holds(std::string_view text) {
    return read_until([&](const std::string& all) { return all.find(text) != std::string::npos; });
  }
  bool read_bytes(size_t size) {
    return read_until([&](const std::string& all) { return all.size() >= size; });
  }
  // All until the peer ends.
  std::string read_to_end() {
    read_until([](const std::string&) { return false; });
    return got;
  }
  void upgrade(std::string_view path) {
    send("GET " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    ASSERT_TRUE(read_until_holds("\r\n\r\n"));
    ASSERT_TRUE(got.starts_with("HTTP/1.1 101 ")) << got;
    got.erase(0, got.find("\r\n\r\n") + 4);
  }
  void send_frame(Opcode opcode, std::string_view payload) {
    std::string bytes;
    append_masked_frame(bytes, opcode, payload, 0x12345678);
    send(bytes);
  }

  std::string got;

 private:
  std::optional<Dialed> dialed_;
};

}  // namespace parley::net
