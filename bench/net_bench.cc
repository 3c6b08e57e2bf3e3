// SPDX-License-Identifier: Apache-2.0
// The network base alone, on loopback: messages of 1 KiB, one a WebSocket frame or one a pipelined
// request, at most 1,024 of them unanswered. The client has its frames ready and only counts bytes,
// so that the server's thread is what is measured: `server_us` is its processor time a message.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "net/socket_server.h"
#include "net/websocket.h"

namespace parley {
namespace {

constexpr size_t window = 1024;
constexpr size_t message_bytes = 1024;
constexpr size_t messages_a_run = 200 * window;

enum class Reply : uint8_t { ack, echo, http };

// Answers each message, as a broker does: after the turn's work.
class Answering final : public net::Handler {
 public:
  explicit Answering(Reply reply) : reply_(reply) {}

  net::CallerId on_head(const net::Request&) override { return 1; }
  void on_request(const net::Exchange& exchange, const net::Request&) override {
    if (reply_ == Reply::http) {
      server->respond(exchange, {.status = 202, .body = std::string(ack)});
    } else {
      server->accept_websocket(exchange);
    }
  }
  void on_message(net::ConnectionId connection, std::string_view text) override {
    if (reply_ == Reply::echo) {
      server->send(connection, text);
    } else {
      connection_ = connection;
      ++due_;
    }
  }
  void on_closed(net::ConnectionId) override { due_ = 0; }
  void on_drained(net::ConnectionId) override {}
  base::Time on_turn() override {
    for (; due_ > 0; --due_) {
      server->send(connection_, ack);
    }
    return base::time_max;
  }

  static constexpr std::string_view ack = R"({"ref":1234,"ok":true,"seq":12345678,"count":1})";
  net::Server* server = nullptr;

 private:
  Reply reply_;
  net::ConnectionId connection_ = 0;
  size_t due_ = 0;
};

double seconds_of(clockid_t clock) {
  timespec time{};
  CHECK(clock_gettime(clock, &time) == 0);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    const int on = 1;
    CHECK(::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
  }
  // Sends a request and returns the answer, which has no body or one that ends with `end`.
  std::string ask(std::string_view request, std::string_view end) {
    send(request);
    std::string answer;
    while (!answer.ends_with(end)) {
      char byte = 0;
      CHECK(::recv(socket_, &byte, 1, 0) == 1);
      answer += byte;
    }
    return answer;
  }
  void upgrade() {
    ask("GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        "\r\n\r\n");
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      CHECK(sent > 0);
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  size_t receive() {
    const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    CHECK(got > 0);
    return static_cast<size_t>(got);
  }

 private:
  int socket_;
  std::array<char, 64 * 1024> buffer_;
};

// Sends `messages_a_run` messages, with a sliding window, and waits for the last answer.
void run(Client& client, std::string_view frames, size_t frame_size, size_t reply_size) {
  size_t sent = 0;
  size_t received_bytes = 0;
  while (received_bytes < messages_a_run * reply_size) {
    const size_t open = sent - received_bytes / reply_size;
    const size_t more = std::min(window - open, messages_a_run - sent);
    // Half a window at least: a client that answers each ack with a send measures system calls.
    if (more >= window / 2 || sent + more == messages_a_run) {
      client.send(frames.substr(0, more * frame_size));
      sent += more;
    }
    received_bytes += client.receive();
  }
}

void talk(benchmark::State& state, Reply reply) {
  Answering handler(reply);
  auto server = net::SocketServer::listen({}, handler);
  CHECK(server.has_value());
  handler.server = server->get();
  std::thread thread([&] { (*server)->run(); });
  clockid_t clock{};
  CHECK(pthread_getcpuclockid(thread.native_handle(), &clock) == 0);

  const std::string text(message_bytes, 'm');
  std::string message;
  std::string answer;
  {
    Client client((*server)->port());
    if (reply == Reply::http) {
      message = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer prl_" +
                std::string(43, 't') + "\r\nContent-Length: 1024\r\n\r\n" + text;
      answer = client.ask(message, Answering::ack);
    } else {
      client.upgrade();
      net::append_masked_frame(message, net::Opcode::text, text, 0x1234'5678);
      net::append_frame(answer, net::Opcode::text,
                        reply == Reply::echo ? std::string_view(text) : Answering::ack);
    }
    std::string messages;
    for (size_t count = 0; count < window; ++count) {
      messages += message;
    }
    const double before = seconds_of(clock);
    for (auto _ : state) {
      run(client, messages, message.size(), answer.size());
    }
    const double total = static_cast<double>(state.iterations() * messages_a_run);
    state.counters["messages"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
    state.counters["server_us"] = (seconds_of(clock) - before) * 1e6 / total;
  }
  (*server)->stop();
  thread.join();
}

// Many agents, each with one message at a time: what a message costs that shares no read and no
// write with others.
void many(benchmark::State& state) {
  constexpr size_t clients_count = 256;
  Answering handler(Reply::echo);
  auto server = net::SocketServer::listen({}, handler);
  CHECK(server.has_value());
  handler.server = server->get();
  std::thread thread([&] { (*server)->run(); });
  clockid_t clock{};
  CHECK(pthread_getcpuclockid(thread.native_handle(), &clock) == 0);
  std::string message;
  net::append_masked_frame(message, net::Opcode::text, std::string(message_bytes, 'm'), 1);
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (size_t count = 0; count < clients_count; ++count) {
      clients.push_back(std::make_unique<Client>((*server)->port()));
      clients.back()->upgrade();
    }
    const double before = seconds_of(clock);
    for (auto _ : state) {
      for (const auto& client : clients) {
        client->send(message);
      }
      for (const auto& client : clients) {
        for (size_t got = 0; got < message.size() - sizeof(uint32_t); got += client->receive()) {
        }
      }
    }
    const double total = static_cast<double>(state.iterations() * clients_count);
    state.counters["messages"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
    state.counters["server_us"] = (seconds_of(clock) - before) * 1e6 / total;
  }
  (*server)->stop();
  thread.join();
}

void ack(benchmark::State& state) { talk(state, Reply::ack); }
void echo(benchmark::State& state) { talk(state, Reply::echo); }
void http(benchmark::State& state) { talk(state, Reply::http); }
BENCHMARK(ack)->Name("net/websocket_ack")->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(echo)->Name("net/websocket_echo")->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(many)->Name("net/websocket_many")->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(http)->Name("net/http_pipelined")->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parley
