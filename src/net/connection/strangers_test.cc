// SPDX-License-Identifier: Apache-2.0
// What a connection holds for a caller who is not known, and of the unfinished of one who is.
#include <gtest/gtest.h>

#include "net/connection/connection.h"
#include "net/connection/peer_test.h"

namespace parley::net {
namespace {

size_t held_by_strangers(const Surroundings& around) {
  const Account account = around.accounts.of(Accounts::stranger);
  return account.unfinished_bytes + account.unread_bytes;
}

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
      EXPECT_LT(held_by_strangers(peer.around), 1'000u);
    }
    EXPECT_EQ(peer.heard, (std::vector<std::string>{"GET /1", "POST /s"}));
    EXPECT_EQ(peer.heads, 2);
    const std::string answers = peer.read();
    EXPECT_TRUE(answers.ends_with("answer 2"));
    EXPECT_NE(answers.find("Connection: close"), std::string::npos);
    EXPECT_EQ(peer.connection->phase(), Connection::Phase::closing);
    EXPECT_EQ(held_by_strangers(peer.around), 0u);
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
  EXPECT_GT(held_by_strangers(peer_.around), 3'000u);
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
  EXPECT_EQ(held_by_strangers(peer_.around), other_.output().size());
}

TEST_F(Strangers, WithinTheirShareAreNeverRefused) {
  peer_.around.accounts.open(Accounts::stranger).unread_bytes = 1'000'000;  // others
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
  EXPECT_EQ(held_by_strangers(peer_.around), 0u);
}

// A body that does not end, of one who is known.
std::string part_of_body(char caller, size_t bytes) {
  std::string request = "POST /b HTTP/1.1\r\nHost: a\r\nX-Caller: ";
  request += caller;
  request += "\r\nContent-Length: 1000000\r\n\r\n";
  return request.append(bytes, 'x');
}

// Two connections, whose callers may hold 4,000 bytes each.
class Unfinished : public testing::Test {
 public:
  static void feed(Connection& connection, const std::string& bytes) {
    std::string all = connection.kept() + bytes;
    connection.feed(all);
  }
  size_t unfinished(CallerId caller) const {
    return peer_.around.accounts.of(caller).unfinished_bytes;
  }

  Peer peer_{{.unfinished_bytes_per_principal_max = 4'000}};
  Connection other_{7, peer_.around};
};

TEST_F(Unfinished, BodiesOfOneCallerHaveOneLimit) {
  peer_.send(part_of_body('a', 3'000));
  feed(other_, part_of_body('a', 500));
  EXPECT_EQ(other_.output(), "");
  feed(other_, std::string(500, 'x'));
  const std::string answer(other_.output());
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 429 ")) << answer;
  EXPECT_NE(answer.find("\r\nRetry-After: 1\r\n"), std::string::npos);
  EXPECT_NE(answer.find("RATE_LIMITED"), std::string::npos);
  EXPECT_EQ(other_.phase(), Connection::Phase::closing);
  // What the refused one held is given back, and the first one goes on.
  peer_.send(std::string(800, 'x'));
  EXPECT_EQ(peer_.read(), "");
  EXPECT_EQ(peer_.connection->phase(), Connection::Phase::open);
}

TEST_F(Unfinished, BodiesOfAnotherCallerCountForThatOne) {
  peer_.send(part_of_body('a', 3'000));
  feed(other_, part_of_body('b', 3'000));
  EXPECT_EQ(other_.output(), "");
  EXPECT_GT(unfinished('a'), 3'000u);
  EXPECT_GT(unfinished('b'), 3'000u);
  peer_.connection.reset();
  EXPECT_EQ(peer_.around.accounts.of('a'), Account{});
  EXPECT_GT(unfinished('b'), 3'000u);
}

TEST_F(Unfinished, TheOnlyBodyOfACallerIsNeverRefused) {
  peer_.send(part_of_body('a', 900'000));
  EXPECT_EQ(peer_.read(), "");
  peer_.send(std::string(100'000, 'x'));
  EXPECT_EQ(peer_.heard.size(), 1u);
  EXPECT_EQ(unfinished('a'), 0u);
}

TEST_F(Unfinished, AMessageOfAWebSocketCountsToo) {
  feed(other_,
       "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n" + std::string(3'000, 'x'));
  peer_.open_websocket();
  peer_.send(frame(Opcode::text, std::string(2'000, 'x')).substr(0, 1'500));
  EXPECT_EQ(peer_.connection->phase(), Connection::Phase::closing);
  EXPECT_EQ(peer_.read().substr(2, 2), "\x03\xf5");  // 1013
  EXPECT_LT(unfinished(1), 3'500u);
}

TEST_F(Unfinished, IsDroppedWhenItsCallerIsRemoved) {
  peer_.answers_at_once = true;
  peer_.send(part_of_body('a', 3'000));
  peer_.pass(base::seconds(1));
  EXPECT_EQ(peer_.read(), "");
  peer_.removed = 'a';
  peer_.pass(base::seconds(1));
  EXPECT_EQ(peer_.heard, (std::vector<std::string>{"POST /b"}));
  EXPECT_EQ(unfinished('a'), 0u);
  EXPECT_TRUE(peer_.read().ends_with("answer 1"));
  EXPECT_EQ(peer_.connection->phase(), Connection::Phase::closing);
}

// Three connections of one caller, who may have 4,000 bytes of answers unread.
class Unread : public testing::Test {
 public:
  Unread() {
    for (Connection* each : {&peer_.connection.value(), &second_, &third_}) {
      feed(*each, ask);
    }
  }
  static void feed(Connection& connection, const std::string& bytes) {
    std::string all = connection.kept() + bytes;
    connection.feed(all);
  }
  static Response large(size_t bytes) { return {200, "text/plain", std::string(bytes, 'x'), {}}; }

  static inline const std::string ask = "GET / HTTP/1.1\r\nHost: a\r\nX-Caller: a\r\n\r\n";
  Peer peer_{{.unread_bytes_per_principal_max = 40'000}};
  Connection second_{7, peer_.around};
  Connection third_{7, peer_.around};
};

TEST_F(Unread, AnswersOfOneCallerHaveOneLimit) {
  peer_.connection->respond(1, large(38'000));
  second_.respond(1, large(20'000));
  const std::string answer(second_.output());
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 429 ")) << answer;
  EXPECT_NE(answer.find("server.unread_bytes_per_principal_max"), std::string::npos);
  EXPECT_EQ(second_.phase(), Connection::Phase::open);
  // An even share of the limit may always be had: here the least that it can be.
  third_.respond(1, large(13'000));
  EXPECT_TRUE(third_.output().starts_with("HTTP/1.1 200 "));
  // What was read is not counted any more.
  peer_.read();
  feed(second_, ask);
  second_.wrote(second_.output().size());
  second_.respond(2, large(20'000));
  EXPECT_TRUE(second_.output().starts_with("HTTP/1.1 200 "));
}

// Beyond the limit a connection with more than its share is read no further until its peer reads.
TEST_F(Unread, WhoReadsTooLittleIsReadNoFurther) {
  peer_.connection->respond(1, large(39'000));
  EXPECT_TRUE(peer_.connection->wants_input());
  third_.respond(1, large(15'000));
  EXPECT_FALSE(peer_.connection->wants_input());
  EXPECT_TRUE(third_.wants_input());
  peer_.read();
  EXPECT_TRUE(peer_.connection->wants_input());
}

// Whether it was carried out must not be told wrongly.
TEST_F(Unread, TheAnswerToWhatChangesSomethingIsNotReplaced) {
  peer_.connection->respond(1, large(38'000));
  feed(second_, "POST /b HTTP/1.1\r\nHost: a\r\nX-Caller: a\r\nContent-Length: 0\r\n\r\n");
  second_.respond(1, large(1'000));
  second_.wrote(second_.output().size());
  second_.respond(2, large(20'000));
  EXPECT_EQ(second_.phase(), Connection::Phase::dead);
}

TEST(Connection, OverTheLimitOfItsCallerIsAnswered429) {
  Peer peer({.connections_per_principal_max = 1});
  peer.answers_at_once = true;
  Connection second(7, peer.around);
  const std::string ask = get("/1");
  peer.send(ask);
  for (const std::string& bytes :
       {ask, std::string("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nxx")}) {
    Connection one_more(7, peer.around);
    std::string copy = bytes;
    one_more.feed(copy);
    const std::string answer(one_more.output());
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 429 ")) << answer;
    EXPECT_NE(answer.find("server.connections_per_principal_max"), std::string::npos);
    EXPECT_EQ(one_more.phase(), Connection::Phase::closing);
  }
  EXPECT_EQ(peer.heard, (std::vector<std::string>{"GET /1"}));
  EXPECT_EQ(peer.around.accounts.of(1).connections, 1u);
  peer.send(ask);
  EXPECT_EQ(peer.heard.size(), 2u);
}

TEST(Connection, AStrangerWithOneAnswerUnreadIsReadNoFurther) {
  Peer peer;
  const std::string ask = get("/", "X-Stranger: 1\r\n");
  peer.send(ask + ask);
  EXPECT_EQ(peer.heard.size(), 2u);
  peer.connection->respond(1, {200, "text/plain", std::string(100'000, 'x'), {}});
  peer.send(ask);
  EXPECT_EQ(peer.heard.size(), 2u);
  peer.read();
  peer.connection->resume();
  EXPECT_EQ(peer.heard.size(), 3u);
}

TEST(Connection, StrangersAreInTheOrderOfTheirSilence) {
  Peer peer;
  std::string ask = get("/", "X-Stranger: 1\r\n");
  Connection first(1, peer.around);
  Connection second(2, peer.around);
  EXPECT_EQ(peer.around.accounts.strangers(), (Accounts::Strangers{7, 1, 2}));
  std::string part = "GE";
  first.feed(part);
  EXPECT_EQ(peer.around.accounts.strangers(), (Accounts::Strangers{7, 2, 1}));
  peer.send(get("/"));  // is known from now on
  EXPECT_EQ(peer.around.accounts.strangers(), (Accounts::Strangers{2, 1}));
  peer.send(ask);
  EXPECT_EQ(peer.around.accounts.strangers(), (Accounts::Strangers{2, 1, 7}));
}

}  // namespace
}  // namespace parley::net
