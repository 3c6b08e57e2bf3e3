// SPDX-License-Identifier: Apache-2.0
// The server over real sockets of the loopback.
#include "net/socket_server.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "lib/tls_testing.h"
#include "net/client/client.h"
#include "net/live_test.h"

namespace parley::net {
namespace {

std::string get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

SocketServer::Options with(const Server::Limits& limits) {
  SocketServer::Options options;
  options.limits = limits;
  return options;
}

TEST(Server, AnswersAndKeepsTheConnection) {
  LiveServer live;
  RawClient client(live.url());
  client.send(get("/one?x=1"));
  ASSERT_TRUE(client.read_until_holds("GET /one x=1 "));
  client.send("POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
  ASSERT_TRUE(client.read_until_holds("POST /two  body"));
  EXPECT_EQ(count_of(client.got, "Connection: close"), 0u);
  EXPECT_EQ(count_of(client.got, "\r\nDate: "), 2u);
  EXPECT_EQ(live.on_thread([&] { return live.server().connections(); }), 1u);
}

TEST(Server, AnswersPipelinedRequestsInTheirOrder) {
  LiveServer live;
  RawClient client(live.url());
  std::string many = get("/later");
  for (int count = 0; count < 500; ++count) {
    many += get("/n" + std::to_string(count));
  }
  client.send(many);
  live.wait_until([&] { return live.requests == 501; });
  live.answer_later();
  ASSERT_TRUE(client.read_until_holds("/n499 "));
  size_t at = client.got.find("late");
  for (int count = 0; count < 500; ++count) {
    const size_t next = client.got.find("/n" + std::to_string(count) + " ", at);
    ASSERT_NE(next, std::string::npos) << count;
    at = next;
  }
}

TEST(Server, EndsAfterConnectionClose) {
  LiveServer live;
  RawClient client(live.url());
  client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.read_to_end().find("Connection: close\r\n"), std::string::npos);
}

TEST(Server, AnswersHttp10AndEnds) {
  LiveServer live;
  RawClient client(live.url());
  client.send("GET /old HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.0 200 OK\r\n"));
}

TEST(Server, ErrorsOfThisLevelAreProblemsAndEndTheConnection) {
  LiveServer live(with({.header_bytes_max = 2000, .body_bytes_max = 1000}));
  struct Case {
    std::string bytes;
    std::string status;
    std::string code;
  };
  const std::vector<Case> cases = {
      {"\x16\x03\x01garbage", "400", "BAD_REQUEST"},
      {"GET / HTTP/1.1\r\n\r\n", "400", "BAD_REQUEST"},
      {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", "505", "VERSION_NOT_SUPPORTED"},
      {"GET / HTTP/1.1\r\nX: " + std::string(3000, 'x'), "431", "HEADER_TOO_LARGE"},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", "413", "PAYLOAD_TOO_LARGE"},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n", "413",
       "PAYLOAD_TOO_LARGE"},
  };
  for (const Case& each : cases) {
    RawClient client(live.url());
    client.send(each.bytes);
    const std::string out = client.read_to_end();
    EXPECT_TRUE(out.starts_with("HTTP/1.1 " + each.status + " ")) << out;
    EXPECT_NE(out.find("Content-Type: application/problem+json\r\n"), std::string::npos) << out;
    EXPECT_NE(out.find("\"code\":\"" + each.code + "\""), std::string::npos) << out;
  }
  EXPECT_EQ(live.on_thread([&] { return live.requests; }), 0u);
}

TEST(Server, ClientThatSendsAllTheSameReadsWhyItWasRefused) {
  LiveServer live(with({.body_bytes_max = 1000}));
  RawClient client(live.url());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n");
  const std::string part(100'000, 'x');
  for (int count = 0; count < 200; ++count) {
    client.send(part);
  }
  ASSERT_TRUE(client.read_until_holds("PAYLOAD_TOO_LARGE"));
}

TEST(Server, SlowRequestIsAnswered408) {
  LiveServer live(with({.request_timeout = base::milliseconds(50)}));
  RawClient client(live.url());
  client.send("GET / HTTP/1.1\r\nHo");
  const std::string out = client.read_to_end();
  EXPECT_TRUE(out.starts_with("HTTP/1.1 408 ")) << out;
  EXPECT_NE(out.find("REQUEST_TIMEOUT"), std::string::npos);
}

TEST(Server, IdleConnectionIsClosed) {
  LiveServer live(with({.idle_timeout = base::milliseconds(50)}));
  RawClient client(live.url());
  client.send(get("/"));
  EXPECT_EQ(count_of(client.read_to_end(), "HTTP/1.1 200 OK"), 1u);
  RawClient silent(live.url());
  EXPECT_EQ(silent.read_to_end(), "");
}

TEST(Server, ConnectionOverTheLimitIsAnswered503) {
  LiveServer live(with({.connections_max = 3}));
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int count = 0; count < 3; ++count) {
    clients.push_back(std::make_unique<RawClient>(live.url()));
    clients.back()->send(get("/"));
    ASSERT_TRUE(clients.back()->read_until_holds("GET / "));
  }
  {
    RawClient one_more(live.url());
    const std::string out = one_more.read_to_end();
    EXPECT_TRUE(out.starts_with("HTTP/1.1 503 ")) << out;
    EXPECT_NE(out.find("OVERLOADED"), std::string::npos);
  }
  clients.clear();
  live.wait_until([&] { return live.server().connections() == 0; });
  RawClient again(live.url());
  again.send(get("/again"));
  EXPECT_TRUE(again.read_until_holds("GET /again "));
}

// What one connection has sent at once does not run in one go.
TEST(Server, OneThatPipelinesHoldsUpNobody) {
  LiveServer live;
  RawClient other(live.url());
  other.send(get("/"));
  ASSERT_TRUE(other.read_until_holds("GET / "));
  RawClient greedy(live.url());
  std::string requests;
  for (int n = 0; n < 300; ++n) {
    requests += get("/busy");
  }
  greedy.send(requests);
  live.wait_until([&] { return live.requests > 1; });
  other.send(get("/number"));
  ASSERT_TRUE(other.read_until_holds("number ") && other.read_until_holds(";"));
  const size_t at = other.got.find("number ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(std::stoi(other.got.substr(at + 7)), 150);
}

TEST(Server, ManyConnectionsAreServed) {
  LiveServer live;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int count = 0; count < 400; ++count) {
    clients.push_back(std::make_unique<RawClient>(live.url()));
    clients.back()->upgrade("/ws");
  }
  for (auto& client : clients) {
    client->send_frame(Opcode::text, "hello");
  }
  for (auto& client : clients) {
    ASSERT_TRUE(client->read_bytes(7));
    EXPECT_EQ(client->got, "\x81\x05hello");
  }
  clients.clear();
  live.wait_until([&] { return live.closed == 400 && live.open.empty(); });
}

// The kernel asks after a peer that says nothing: its timer of kind 2 runs.
TEST(Server, ConnectionsAreKeptAlive) {
  LiveServer live;
  RawClient client(live.url());
  client.send(get("/stream"));
  live.wait_until([&] { return live.streams.size() == 1; });
  char port[8];
  std::snprintf(port, sizeof port, ":%04X", live.server().port());
  std::ifstream table("/proc/net/tcp");
  bool found = false;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, queues, timer;
    fields >> slot >> local >> remote >> state >> queues >> timer;
    if (local.ends_with(port) && state == "01") {
      found = true;
      EXPECT_TRUE(timer.starts_with("02:")) << line;
    }
  }
  EXPECT_TRUE(found);
}

TEST(Server, GoneClientIsToldToTheHandlerOnce) {
  LiveServer live;
  {
    RawClient client(live.url());
    client.send(get("/later"));
    live.wait_until([&] { return live.later.size() == 1; });
  }
  live.wait_until([&] { return live.closed == 1; });
  live.answer_later();  // ignored
  EXPECT_EQ(live.on_thread([&] { return live.closed; }), 1u);
}

TEST(Server, StreamGoesOnUntilTheClientLeaves) {
  LiveServer live;
  {
    RawClient client(live.url());
    client.send(get("/stream"));
    live.wait_until([&] { return live.streams.size() == 1; });
    for (int count = 0; count < 3; ++count) {
      live.on_thread([&] { live.server().send(live.streams[0], "data: x\n\n"); });
    }
    ASSERT_TRUE(client.read_until(
        [](const std::string& all) { return count_of(all, "9\r\ndata: x\n\n\r\n") == 3; }));
  }
  live.wait_until([&] { return live.streams.empty(); });
}

TEST(Server, SlowReaderIsBoundedAndStallsNobody) {
  LiveServer live(with({.buffered_max = 100'000}));
  RawClient slow(live.url());
  slow.send(get("/stream"));
  live.wait_until([&] { return live.streams.size() == 1; });
  // Fills the sockets' buffers, then ours beyond the mark.
  size_t sent = 0;
  live.wait_until([&] {
    const ConnectionId id = live.streams[0];
    const bool is_over = live.server().buffered(id) > 100'000;
    if (!is_over) {
      live.server().send(id, std::string(90'000, 's'));
      sent += 90'000;
    }
    return is_over;
  });
  EXPECT_LT(live.on_thread([&] { return live.server().buffered(live.streams[0]); }), 200'000u);
  RawClient other(live.url());
  other.send(get("/other"));
  EXPECT_TRUE(other.read_until_holds("GET /other "));
  // Once it reads, all of it comes, and the handler hears that it may go on.
  ASSERT_TRUE(slow.read_until([&](const std::string& all) { return all.size() >= sent; }));
  live.wait_until([&] { return live.drained >= 1; });
}

TEST(Server, ReaderThatFallsTooFarBehindIsClosed) {
  LiveServer live(with({.buffered_max = 100'000}));
  RawClient slow(live.url());
  slow.send(get("/stream"));
  live.wait_until([&] { return live.streams.size() == 1; });
  live.wait_until([&] {
    if (!live.streams.empty()) {
      live.server().send(live.streams[0], std::string(150'000, 's'));
    }
    return live.streams.empty();
  });
  EXPECT_EQ(live.on_thread([&] { return live.closed; }), 1u);
}

TEST(Server, ClientThatReadsNoAnswersIsNotReadFrom) {
  LiveServer live(with({.buffered_max = 100'000}));
  RawClient client(live.url());
  std::string many;
  for (int count = 0; count < 200; ++count) {
    many += get("/large");
  }
  client.send(many);  // asks for 200 MB
  live.wait_until([&] { return live.requests > 0; });
  for (int count = 0; count < 100; ++count) {
    live.on_thread([] {});
  }
  EXPECT_LT(live.on_thread([&] { return live.requests; }), 50u);
  ASSERT_TRUE(client.read_bytes(200 * 1'000'000));
  EXPECT_EQ(live.on_thread([&] { return live.requests; }), 200u);
}

TEST(Server, WebSocketEchoes) {
  LiveServer live;
  RawClient client(live.url());
  client.upgrade("/ws");
  client.send_frame(Opcode::text, "hello");
  ASSERT_TRUE(client.read_bytes(7));
  EXPECT_EQ(client.got, "\x81\x05hello");
}

TEST(Server, WebSocketTakesFramesByteByByte) {
  LiveServer live;
  RawClient client(live.url());
  client.upgrade("/ws");
  std::string bytes;
  append_masked_frame(bytes, Opcode::text, "hello", 0x01020304);
  append_masked_frame(bytes, Opcode::ping, "p", 0x01020304);
  for (const char byte : bytes) {
    client.send({&byte, 1});
    live.on_thread([] {});
  }
  ASSERT_TRUE(client.read_bytes(10));
  EXPECT_EQ(client.got, "\x81\x05hello\x8a\x01p");
}

TEST(Server, WebSocketTakesAMessageOfTheLargestSize) {
  LiveServer live;
  auto client = WebSocketClient::connect({live.url(), "", ""}, "/ws");
  ASSERT_TRUE(client.has_value());
  const std::string largest(Server::Limits{}.message_bytes_max, 'm');
  client->send(largest);
  const auto got = client->receive(test_patience);
  ASSERT_TRUE(got.has_value() && got->has_value());
  EXPECT_EQ(**got, largest);
  client->send(largest + "m");
  const auto refused = client->receive(test_patience);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().detail.find("1009"), std::string::npos) << refused.error().detail;
}

// The rest of RFC 6455 is held by websocket_test.cc; these are the refusals a client sees.
TEST(Server, WebSocketRefusalsReachTheClient) {
  struct Case {
    std::string bytes;
    uint16_t code;
  };
  std::string text;
  append_masked_frame(text, Opcode::text, "\xff\xff", 1);
  std::string reserved = text;
  reserved[0] = static_cast<char>(reserved[0] | 0x40);
  std::string unmasked;
  append_frame(unmasked, Opcode::text, "a");
  const std::vector<Case> cases = {{text, 1007},
                                   {reserved, 1002},
                                   {unmasked, 1002},
                                   {std::string("\x81\xff\0\0\0\1\0\0\0\0", 10), 1009}};
  for (const Case& each : cases) {
    LiveServer live;
    RawClient client(live.url());
    client.upgrade("/ws");
    client.send(each.bytes);
    const std::string out = client.read_to_end();
    ASSERT_GE(out.size(), 4u);
    EXPECT_EQ(out[0], '\x88');
    EXPECT_EQ(static_cast<uint8_t>(out[2]) << 8 | static_cast<uint8_t>(out[3]), each.code);
  }
}

TEST(Server, WebSocketCloseHandshakeEndsTheConnection) {
  LiveServer live;
  RawClient client(live.url());
  client.upgrade("/ws");
  client.send_frame(Opcode::close, close_payload(1000, "bye"));
  EXPECT_EQ(client.read_to_end(), "\x88\x02\x03\xe8");
  live.wait_until([&] { return live.closed == 1; });
}

TEST(Server, WebSocketThatAnswersNoPingIsClosed) {
  LiveServer live(with({.ping_interval = base::milliseconds(20)}));
  RawClient client(live.url());
  client.upgrade("/ws");
  EXPECT_EQ(client.read_to_end(), std::string("\x89\0\x89\0", 4));
  live.wait_until([&] { return live.closed == 1; });
}

TEST(Server, HalfAFrameThenSilenceEnds) {
  LiveServer live(with({.ping_interval = base::milliseconds(20)}));
  RawClient client(live.url());
  client.upgrade("/ws");
  client.send(std::string("\x81\xfe\x04\x00", 4));
  client.read_to_end();
  live.wait_until([&] { return live.closed == 1; });
  EXPECT_EQ(live.on_thread([&] { return live.messages; }), 0u);
}

TEST(Server, AcksOfATurnLeaveTogether) {
  LiveServer live;
  auto client = WebSocketClient::connect({live.url(), "", ""}, "/count");
  ASSERT_TRUE(client.has_value());
  const std::string message(1024, 'm');
  constexpr int total = 20'000;
  int acked = 0;
  int acks = 0;
  for (int sent = 0; sent < total; ++sent) {
    client->send(message);
  }
  while (acked < total) {
    const auto got = client->receive(test_patience);
    ASSERT_TRUE(got.has_value() && got->has_value());
    acked += std::stoi(std::string(**got));
    ++acks;
  }
  EXPECT_EQ(acked, total);
  EXPECT_LT(acks, total / 4);
}

TEST(Server, PostedWorkRunsOnTheThreadOfTheServer) {
  LiveServer live;
  const auto id = live.on_thread([] { return std::this_thread::get_id(); });
  EXPECT_EQ(live.on_thread([] { return std::this_thread::get_id(); }), id);
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(Server, WorkPostedFromManyThreadsIsAllDone) {
  LiveServer live;
  int done = 0;  // of the server's thread
  std::vector<std::thread> threads;
  for (int count = 0; count < 4; ++count) {
    threads.emplace_back([&] {
      for (int each = 0; each < 500; ++each) {
        live.server().post([&] { ++done; });
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(live.on_thread([&] { return done; }), 2000);
}

TEST(Server, StopTellsWebSocketsAndWritesWhatIsBuffered) {
  LiveServer live;
  RawClient client(live.url());
  client.upgrade("/ws");
  RawClient stream(live.url());
  stream.send(get("/stream"));
  live.wait_until([&] { return live.streams.size() == 1; });
  live.on_thread([&] { live.server().send(live.streams[0], "last"); });
  live.server().stop();
  ASSERT_TRUE(client.read_bytes(4));
  EXPECT_EQ(client.got.substr(0, 1), "\x88");
  EXPECT_EQ(client.got.substr(2, 2), "\x03\xe9");  // 1001
  client.send_frame(Opcode::close, close_payload(1001, ""));
  client.read_to_end();
  EXPECT_TRUE(stream.read_to_end().ends_with("4\r\nlast\r\n0\r\n\r\n"));
  live.stop();
  EXPECT_EQ(live.closed, 2u);
}

// One who sent much before is held up; it was the same for all.
TEST(Server, WhoAsksForLittleIsReadWhileTheHandlerIsBehind) {
  LiveServer live;
  live.behind = true;
  RawClient client(live.url());
  client.send(get("/number"));
  EXPECT_TRUE(client.read_until_holds("number 1;"));
  const std::string large = "POST /number HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n" +
                            std::string(40'000, 'x');
  client.send(large);
  EXPECT_TRUE(client.read_until_holds("number 2;"));
  client.send(get("/number"));
  const size_t turns = live.turns;
  live.wait_until([&] { return live.turns > turns + 100; });
  EXPECT_LT(live.on_thread([&] { return live.requests; }), 3u);
  live.behind = false;
  EXPECT_TRUE(client.read_until_holds("number 3;"));
}

TEST(Server, DueTimeBringsATurn) {
  LiveServer live({}, base::milliseconds(1));
  const Deadline deadline(test_patience);
  while (live.turns < 20) {
    ASSERT_GT(deadline.left_ms(), 0);
    std::this_thread::yield();
  }
}

TEST(Server, PortInUseIsSaid) {
  LiveServer live;
  SocketServer::Options options;
  options.port = live.server().port();
  const auto second = SocketServer::listen(options, live);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, base::Code::address_in_use);
  EXPECT_NE(second.error().detail.find("in use"), std::string::npos);
}

TEST(Server, AddressThatIsNotThereIsSaid) {
  LiveServer live;
  SocketServer::Options options;
  options.host = "192.0.2.1";
  const auto made = SocketServer::listen(options, live);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().detail.find("192.0.2.1"), std::string::npos);
  options.host = "no such host";
  EXPECT_FALSE(SocketServer::listen(options, live).has_value());
}

// A directory with a certificate and its key.
struct Files {
  Files() : directory(std::filesystem::temp_directory_path() / unique_name()) {
    std::filesystem::create_directory(directory);
    lib::write_test_certificate(certificate(), key());
  }
  ~Files() { std::filesystem::remove_all(directory); }

  static std::string unique_name() {
    std::random_device random;
    return "parley_net_test_" + std::to_string(random()) + std::to_string(random());
  }
  std::string certificate() const { return directory / "certificate.pem"; }
  std::string key() const { return directory / "key.pem"; }
  SocketServer::Options options() const {
    SocketServer::Options made;
    made.tls_certificate = certificate();
    made.tls_key = key();
    return made;
  }

  std::filesystem::path directory;
};

TEST(ServerTls, TalksHttp) {
  const Files files;
  LiveServer live(files.options());
  Client client({live.url(), "", files.certificate()});
  for (int count = 0; count < 3; ++count) {
    const auto response = client.request("POST", "/secret", std::string(100'000, 's'));
    ASSERT_TRUE(response.has_value()) << response.error().detail;
    EXPECT_EQ(response->body, "POST /secret  " + std::string(100'000, 's'));
  }
  EXPECT_EQ(live.on_thread([&] { return live.server().connections(); }), 1u);
}

TEST(ServerTls, TalksWebSocketInBothDirectionsAtOnce) {
  const Files files;
  LiveServer live(files.options());
  auto client = WebSocketClient::connect({live.url(), "", files.certificate()}, "/ws");
  ASSERT_TRUE(client.has_value()) << client.error().detail;
  const std::string message(10'000, 'm');
  for (int count = 0; count < 500; ++count) {
    client->send(message);
  }
  for (int count = 0; count < 500; ++count) {
    const auto got = client->receive(test_patience);
    ASSERT_TRUE(got.has_value() && got->has_value());
    ASSERT_EQ(**got, message);
  }
  EXPECT_TRUE(client->close(1000, "", test_patience).has_value());
}

TEST(ServerTls, EndsAfterConnectionClose) {
  const Files files;
  LiveServer live(files.options());
  RawClient client(live.url(), files.certificate());
  client.send("GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(client.read_to_end().ends_with("GET /last  "));
}

TEST(ServerTls, ClientThatDoesNotTrustTheCertificateSaysSo) {
  const Files files;
  LiveServer live(files.options());
  Client client(live.url(), "");
  const auto response = client.request("GET", "/");
  ASSERT_FALSE(response.has_value());
  EXPECT_NE(response.error().detail.find("self-signed"), std::string::npos)
      << response.error().detail;
  EXPECT_EQ(live.on_thread([&] { return live.requests; }), 0u);
}

TEST(ServerTls, PlainHttpIsDropped) {
  const Files files;
  LiveServer live(files.options());
  RawClient client("http://127.0.0.1:" + std::to_string(live.server().port()));
  client.send(get("/"));
  EXPECT_EQ(client.read_to_end().find("HTTP"), std::string::npos);
  live.wait_until([&] { return live.server().connections() == 0; });
}

TEST(ServerTls, SilentHandshakeIsTimedOut) {
  const Files files;
  SocketServer::Options options = files.options();
  options.limits.idle_timeout = base::milliseconds(50);
  LiveServer live(options);
  RawClient client("http://127.0.0.1:" + std::to_string(live.server().port()));
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(ServerTls, BadFilesAreNamed) {
  const Files files;
  const Files others;
  LiveServer live;
  const auto refusal = [&](std::string certificate, std::string key) {
    SocketServer::Options options;
    options.tls_certificate = std::move(certificate);
    options.tls_key = std::move(key);
    const auto made = SocketServer::listen(options, live);
    EXPECT_FALSE(made.has_value());
    return made.has_value() ? "" : made.error().detail;
  };
  EXPECT_NE(refusal(files.certificate(), "").find("both"), std::string::npos);
  EXPECT_NE(refusal("/no/such.pem", files.key()).find("/no/such.pem"), std::string::npos);
  EXPECT_NE(refusal(files.certificate(), "/no/such.pem").find("No such file"), std::string::npos);
  EXPECT_NE(refusal(files.certificate(), others.key()).find("does not belong"), std::string::npos);
  EXPECT_NE(refusal(files.key(), files.key()).find("not a TLS certificate"), std::string::npos);
  EXPECT_NE(refusal(files.certificate(), files.certificate()).find("not a private key"),
            std::string::npos);
}

}  // namespace
}  // namespace parley::net
