// SPDX-License-Identifier: Apache-2.0
#include "net/client/client.h"

#include <gtest/gtest.h>

#include "net/live_test.h"

namespace parley::net {
namespace {

TEST(Url, GivesItsParts) {
  const auto url = Url::parse("https://broker.example:7455/base/");
  ASSERT_TRUE(url.has_value());
  EXPECT_TRUE(url->is_tls);
  EXPECT_EQ(url->host, "broker.example");
  EXPECT_EQ(url->port, "7455");
  EXPECT_EQ(url->prefix, "/base");
  EXPECT_EQ(url->authority(), "broker.example:7455");
  EXPECT_EQ(Url::parse("http://a")->port, "80");
  EXPECT_EQ(Url::parse("wss://a/")->port, "443");
  EXPECT_EQ(Url::parse("http://[::1]:80")->host, "::1");
  EXPECT_EQ(Url::parse("http://[::1]:80")->authority(), "[::1]:80");
}

TEST(Url, RefusesWhatIsNone) {
  for (const std::string_view bad :
       {"", "a", "127.0.0.1:80", "ftp://a", "http://", "http://:80", "http://a:", "http://a:x",
        "http://a:123456", "http://[::1", "http://a b", "http://a\r\nX: y"}) {
    const auto url = Url::parse(bad);
    EXPECT_FALSE(url.has_value()) << bad;
  }
}

TEST(Client, KeepsItsConnection) {
  LiveServer live;
  Client client(live.url(), "token");
  for (int count = 0; count < 5; ++count) {
    const auto response = client.request("POST", "/x?y=z", "{}");
    ASSERT_TRUE(response.has_value()) << response.error().detail;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "POST /x y=z {}");
    EXPECT_EQ(response->header("content-type"), "text/plain");
  }
  EXPECT_EQ(live.on_thread([&] { return live.server().connections(); }), 1u);
}

TEST(Client, ReadsTheAnswerToHead) {
  LiveServer live;
  Client client(live.url(), "");
  const auto response = client.request("HEAD", "/x");
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->body, "");
  EXPECT_NE(response->header("content-length"), "0");
  EXPECT_TRUE(client.request("GET", "/y").has_value());
}

TEST(Client, ReadsALargeAnswer) {
  LiveServer live;
  Client client(live.url(), "");
  EXPECT_EQ(client.request("GET", "/large")->body.size(), 1'000'000u);
}

TEST(Client, ConnectsAgainAfterTheServerClosed) {
  SocketServer::Options options;
  options.limits.idle_timeout = base::milliseconds(20);
  LiveServer live(options);
  Client client(live.url(), "");
  ASSERT_TRUE(client.request("GET", "/1").has_value());
  live.wait_until([&] { return live.server().connections() == 0; });
  EXPECT_TRUE(client.request("POST", "/2", "x").has_value());
}

TEST(Client, ReadsTheRefusalOfABodyThatIsTooLarge) {
  SocketServer::Options options;
  options.limits.body_bytes_max = 1000;
  LiveServer live(options);
  Client client(live.url(), "");
  const auto response = client.request("POST", "/", std::string(10'000'000, 'x'));
  ASSERT_TRUE(response.has_value()) << response.error().detail;
  EXPECT_EQ(response->status, 413);
  EXPECT_TRUE(client.request("GET", "/").has_value());
}

TEST(Client, SaysThatNobodyAnswers) {
  uint16_t port = 0;
  {
    LiveServer live;
    port = live.server().port();
  }
  Client client("http://127.0.0.1:" + std::to_string(port), "");
  const auto response = client.request("GET", "/");
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().detail, "no broker answers at http://127.0.0.1:" +
                                         std::to_string(port) + "; start one with `parley serve`");
}

TEST(Client, SaysThatNoAnswerCameInTime) {
  LiveServer live;
  Client client(live.url(), "");
  const auto response = client.request("GET", "/later", {}, {}, base::milliseconds(30));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, base::Code::timeout);
}

TEST(Client, RefusesAUrlAndAPathThatAreNone) {
  EXPECT_FALSE(Client("nonsense", "").request("GET", "/").has_value());
  LiveServer live;
  EXPECT_FALSE(Client(live.url(), "").request("GET", "/a b").has_value());
  EXPECT_FALSE(Client(live.url(), "").request("GET", "/a\r\nX: y").has_value());
}

TEST(WebSocketClient, TalksInBothDirectionsAtOnce) {
  LiveServer live;
  auto client = WebSocketClient::connect({live.url(), "token", ""}, "/ws");
  ASSERT_TRUE(client.has_value()) << client.error().detail;
  const std::string message(1024, 'm');
  // More than the sockets hold: neither side waits for the other to read.
  constexpr int total = 30'000;
  for (int count = 0; count < total; ++count) {
    client->send(message);
  }
  for (int count = 0; count < total; ++count) {
    const auto got = client->receive(test_patience);
    ASSERT_TRUE(got.has_value() && got->has_value());
    ASSERT_EQ(**got, message);
  }
  EXPECT_TRUE(client->close(1000, "done", test_patience).has_value());
}

TEST(WebSocketClient, GivesNothingWhenNothingComes) {
  LiveServer live;
  auto client = WebSocketClient::connect({live.url(), "", ""}, "/ws");
  ASSERT_TRUE(client.has_value());
  const auto got = client->receive(base::milliseconds(10));
  ASSERT_TRUE(got.has_value());
  EXPECT_FALSE(got->has_value());
}

TEST(WebSocketClient, AnswersPings) {
  SocketServer::Options options;
  options.limits.ping_interval = base::milliseconds(10);
  LiveServer live(options);
  auto client = WebSocketClient::connect({live.url(), "", ""}, "/ws");
  ASSERT_TRUE(client.has_value());
  const auto got = client->receive(base::milliseconds(100));
  EXPECT_TRUE(got.has_value());
  EXPECT_EQ(live.on_thread([&] { return live.open.size(); }), 1u);
}

TEST(WebSocketClient, SaysWhyItWasRefused) {
  LiveServer live;
  const auto client = WebSocketClient::connect({live.url(), "", ""}, "/else");
  ASSERT_FALSE(client.has_value());
  EXPECT_NE(client.error().detail.find("200"), std::string::npos) << client.error().detail;
}

TEST(WebSocketClient, SaysWhyItWasClosed) {
  LiveServer live;
  auto client = WebSocketClient::connect({live.url(), "", ""}, "/ws");
  ASSERT_TRUE(client.has_value());
  live.on_thread([&] { live.server().close(*live.open.begin(), 4001, "not you"); });
  const auto got = client->receive(test_patience);
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().detail.find("4001: not you"), std::string::npos) << got.error().detail;
}

}  // namespace
}  // namespace parley::net
