// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/connection/connection.h"
#include "net/problem_test.h"

namespace parley::net {

inline std::string get(std::string_view path, std::string_view fields = {}) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

inline const std::string upgrade =
    get("/ws",
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");

inline std::string frame(Opcode opcode, std::string_view payload) {
  std::string out;
  append_masked_frame(out, opcode, payload, 0x01020304);
  return out;
}

// A connection whose handler writes down what it hears, and whose peer reads what is written.
class Peer : public Handler {
 public:
  explicit Peer(const Server::Limits& limits = {}) {
    around.limits = limits;
    around.handler = this;
    around.now = Time{1'000'000'000};
    around.date = "now";
    connection.emplace(7, around);
  }

  CallerId on_head(const Request& head) override {
    EXPECT_TRUE(head.body.empty());
    ++heads;
    const std::string_view caller = head.header("x-caller");
    const CallerId known = caller.empty() ? 1 : static_cast<CallerId>(caller.front());
    return head.header("x-stranger").empty() && known != removed ? known : 0;
  }
  void on_request(const Exchange& exchange, const Request& request) override {
    EXPECT_EQ(exchange.connection, 7u);
    numbers.push_back(exchange.number);
    heard.push_back(std::string(request.method) + " " + std::string(request.path) +
                    (request.body.empty() ? "" : " " + std::string(request.body)));
    if (answers_at_once) {
      answer(exchange.number);
    }
  }
  void on_message(ConnectionId, std::string_view text) override { heard.emplace_back(text); }
  void on_closed(ConnectionId) override { ADD_FAILURE(); }
  void on_drained(ConnectionId) override { heard.emplace_back("drained"); }
  Time on_turn() override { return base::time_max; }
  Response problem(const Error& error) override { return problem_for_tests(error); }

  void send(std::string bytes) {
    bytes.insert(0, connection->kept());
    connection->feed(bytes);
  }
  void answer(uint64_t number) {
    connection->respond(number, {200, "text/plain", "answer " + std::to_string(number), {}});
  }
  // What was written since, all of it read.
  std::string read() {
    std::string out(connection->output());
    if (!out.empty()) {
      connection->wrote(out.size());
    }
    return out;
  }
  // The bodies of the answers "answer N", in order.
  std::string read_answers() {
    std::string out = read();
    std::string found;
    for (size_t at = out.find("answer "); at != std::string::npos;
         at = out.find("answer ", at + 1)) {
      found += out.substr(at + 7, out.find_first_not_of("0123456789", at + 7) - at - 7) + " ";
    }
    return found;
  }
  void pass(Duration time) {
    around.now = around.now + time;
    connection->tick();
  }
  void open_websocket() {
    send(upgrade);
    connection->accept_websocket(numbers.back(), {});
    EXPECT_TRUE(read().starts_with("HTTP/1.1 101 "));
    heard.clear();
  }

  Surroundings around;
  std::optional<Connection> connection;
  std::vector<uint64_t> numbers;
  std::vector<std::string> heard;
  int heads = 0;
  CallerId removed = 0;  // is not known any more
  bool answers_at_once = false;
};

}  // namespace parley::net
