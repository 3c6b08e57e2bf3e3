// SPDX-License-Identifier: Apache-2.0
// What a connection holds for a caller who is not known.
#include <gtest/gtest.h>

#include "net/connection.h"
#include "net/peer_test.h"

namespace parley::net {
namespace {

std::string stranger(std::string_view more = {}, std::string_view body = {}) {
  return "POST /s HTTP/1.1\r\nHost: a\r\nX-Stranger: 1\r\nContent-Length: 1000000\r\n" +
         std::string(more) + "\r\n" + std::string(body);
}

// What a caller who is not known sends behind the head is neither taken nor kept.
TEST(Connection, TheBodyOfAStrangerIsNotTaken) {
  for (const size_t part : {1, 7, 100'000}) {
    Peer peer;
    peer.answers_at_once = true;
    std::string bytes = get("/1") + stranger({}, std::string(3'000, 'x')) + get("/3");
    for (; !bytes.empty(); bytes.erase(0, part)) {
      peer.send(bytes.substr(0, part));
      EXPECT_LT(peer.connection->kept().size(), 200u);
      EXPECT_LT(peer.around.unauthenticated_bytes, 1'000u);
    }
    EXPECT_EQ(peer.heard, (std::vector<std::string>{"GET /1", "POST /s"}));
    EXPECT_EQ(peer.heads, 2);
    const std::string answers = peer.read();
    EXPECT_TRUE(answers.ends_with("answer 2"));
    EXPECT_NE(answers.find("Connection: close"), std::string::npos);
    EXPECT_EQ(peer.connection->phase(), Connection::Phase::closing);
    EXPECT_EQ(peer.around.unauthenticated_bytes, 0u);
  }
}

TEST(Connection, AStrangerIsNotToldToContinue) {
  Peer peer;
  peer.send(stranger("Expect: 100-continue\r\n"));
  EXPECT_EQ(peer.read(), "");
  peer.answer(1);
  EXPECT_EQ(peer.read_answers(), "1 ");
}

// Two connections within one limit, of which the share of each is half.
class Strangers : public testing::Test {
 public:
  Strangers() { peer_.around.limits.connections_max = 2; }

  // Parts of a head: each line is one, and one is not whole.
  static std::string head(size_t bytes) {
    return "GET / HTTP/1.1\r\nHost: a\r\nX-Stranger: 1\r\nX: " + std::string(bytes / 2, 'x') +
           "\r\nY: " + std::string(bytes / 2, 'x');
  }

  Peer peer_{{.header_bytes_max = 10'000, .unauthenticated_bytes_max = 4'000}};
  Connection other_{7, peer_.around};
};

TEST_F(Strangers, HoldTogetherWhatTheLimitSays) {
  peer_.send(head(3'000));
  EXPECT_GT(peer_.around.unauthenticated_bytes, 3'000u);
  EXPECT_EQ(peer_.read(), "");
  std::string small = head(500);
  other_.feed(small);
  EXPECT_EQ(other_.output(), "");
  // Over the limit: who holds more than a share is refused, and what it held is given back.
  std::string large = other_.kept() + std::string(2'000, 'x');
  other_.feed(large);
  EXPECT_TRUE(other_.output().starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(other_.phase(), Connection::Phase::closing);
  EXPECT_LT(other_.kept().size(), 100u);
  // The first one is not touched by that, and becomes known: nothing is counted for it.
  peer_.connection.emplace(7, peer_.around);
  peer_.send(get("/1"));
  EXPECT_EQ(peer_.around.unauthenticated_bytes, other_.output().size());
}

TEST_F(Strangers, WithinTheirShareAreNeverRefused) {
  peer_.around.unauthenticated_bytes = 1'000'000;  // others
  std::string small = head(1'000);
  other_.feed(small);
  EXPECT_EQ(other_.output(), "");
}

// A large answer to each of many who do not read.
TEST_F(Strangers, GetNoAnswerThatIsTooLargeToHold) {
  const std::string ask = "GET / HTTP/1.1\r\nHost: a\r\nX-Stranger: 1\r\n\r\n";
  const Response large{200, "text/plain", std::string(3'500, 'x'), {}};
  peer_.send(ask);
  peer_.connection->respond(1, large);
  EXPECT_EQ(peer_.connection->phase(), Connection::Phase::open);
  std::string again = ask;
  other_.feed(again);
  other_.respond(1, large);
  EXPECT_EQ(other_.phase(), Connection::Phase::dead);
  EXPECT_GT(peer_.read().size(), 3'500u);
  EXPECT_EQ(peer_.around.unauthenticated_bytes, 0u);
}

}  // namespace
}  // namespace parley::net
