// SPDX-License-Identifier: Apache-2.0
// The protocol without a socket: order of answers, limits, times.
#include "net/connection/connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "net/connection/peer_test.h"

namespace parley::net {
namespace {

using Phase = Connection::Phase;

TEST(Connection, PipelinedAnswersLeaveInTheOrderOfTheRequests) {
  Peer peer;
  peer.send(get("/1") + get("/2") + get("/3") + get("/4"));
  EXPECT_EQ(peer.heard, (std::vector<std::string>{"GET /1", "GET /2", "GET /3", "GET /4"}));
  peer.answer(3);
  peer.answer(2);
  EXPECT_EQ(peer.read_answers(), "");
  peer.answer(1);
  EXPECT_EQ(peer.read_answers(), "1 2 3 ");
  peer.answer(4);
  EXPECT_EQ(peer.read_answers(), "4 ");
  EXPECT_EQ(peer.connection->buffered(), 0u);
}

// An answer whose end is written to `told`.
Response reported(std::string& told, std::string_view name) {
  return {.body = "answer",
          .headers = {},
          .reports = {std::make_shared<WriteReport>([&told, name](bool is_written) {
            told += std::string(name) + (is_written ? " written " : " lost ");
          })}};
}

TEST(Connection, AnswerIsReportedWhenItsLastByteHasLeft) {
  Peer peer;
  std::string told;
  peer.send(get("/1") + get("/2") + get("/3"));
  peer.connection->respond(2, reported(told, "2"));
  peer.answer(1);
  EXPECT_EQ(told, "");
  peer.connection->wrote(peer.connection->output().size() - 1);
  EXPECT_EQ(told, "");
  peer.connection->wrote(1);
  EXPECT_EQ(told, "2 written ");
  peer.connection->respond(3, reported(told, "3"));
  peer.read();
  EXPECT_EQ(told, "2 written 3 written ");
}

TEST(Connection, AnswerThatNeverLeavesIsReportedAsLost) {
  std::string told;
  {
    Peer peer;
    peer.send(get("/1") + get("/2") + get("/3"));
    peer.connection->respond(3, reported(told, "3"));  // waits for those before it
    peer.connection->respond(1, reported(told, "1"));
    peer.connection->wrote(peer.connection->output().size() - 1);
    peer.connection->respond(1, reported(told, "again"));  // is ignored
    EXPECT_EQ(told, "again lost ");
    peer.connection->fail();
  }
  EXPECT_NE(told.find("1 lost "), std::string::npos);
  EXPECT_NE(told.find("3 lost "), std::string::npos);
  EXPECT_EQ(told.find("written"), std::string::npos);
}

TEST(Connection, PartOfAStreamIsReportedWhenItHasLeft) {
  std::string told;
  {
    Peer peer;
    peer.send(get("/1"));
    peer.connection->start_stream(1, {.headers = {}});
    peer.read();
    peer.connection->send("a", reported(told, "a").reports);
    EXPECT_EQ(told, "");
    peer.read();
    EXPECT_EQ(told, "a written ");
    peer.connection->send("b", reported(told, "b").reports);
  }
  EXPECT_EQ(told, "a written b lost ");
}

TEST(Connection, SecondAnswerIsIgnored) {
  Peer peer;
  peer.send(get("/1") + get("/2"));
  peer.answer(2);
  peer.answer(2);
  peer.answer(1);
  peer.answer(1);
  peer.answer(9);
  peer.answer(0);
  EXPECT_EQ(peer.read_answers(), "1 2 ");
}

TEST(Connection, ReadingPausesWhileTooManyAreUnanswered) {
  Peer peer({.pipelined_max = 2});
  peer.send(get("/1") + get("/2") + get("/3"));
  EXPECT_EQ(peer.heard.size(), 2u);
  EXPECT_FALSE(peer.connection->wants_input());
  peer.answer(1);
  EXPECT_TRUE(peer.connection->wants_input());
  peer.connection->resume();
  EXPECT_EQ(peer.heard.back(), "GET /3");
}

TEST(Connection, LongRunOfPipelinedRequestsKeepsItsOrder) {
  Peer peer({.pipelined_max = 3});
  std::string expected;
  uint64_t answered = 0;
  peer.send(get("/1") + get("/2"));
  for (uint64_t number = 3; number < 200; ++number) {
    peer.send(get("/x"));
    peer.answer(++answered);
    expected += std::to_string(answered) + " ";
  }
  EXPECT_EQ(peer.read_answers(), expected);
}

TEST(Connection, ReadingPausesWhileTooMuchIsUnread) {
  Peer peer({.buffered_max = 1000});
  peer.answers_at_once = true;
  std::string many;
  for (int count = 0; count < 100; ++count) {
    many += get("/x");
  }
  peer.send(many);
  EXPECT_FALSE(peer.connection->wants_input());
  EXPECT_LT(peer.connection->buffered(), 1200u);
  while (peer.heard.size() < 100) {
    peer.read();
    ASSERT_TRUE(peer.connection->wants_input());
    peer.connection->resume();
  }
}

TEST(Connection, CloseIsHonouredAfterItsAnswer) {
  Peer peer;
  peer.send(get("/1", "Connection: close\r\n") + get("/2"));
  EXPECT_EQ(peer.heard.size(), 1u);
  EXPECT_EQ(peer.connection->phase(), Phase::open);
  peer.answer(1);
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
  EXPECT_FALSE(peer.connection->output_ended());
  EXPECT_NE(peer.read().find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(peer.connection->output_ended());
}

TEST(Connection, MalformedRequestIsAnsweredBehindTheOthersAndClosed) {
  Peer peer;
  peer.send(get("/1") + "\x01garbage");
  EXPECT_EQ(peer.read(), "");
  peer.answer(1);
  const std::string out = peer.read();
  EXPECT_LT(out.find("answer 1"), out.find("HTTP/1.1 400 "));
  EXPECT_NE(out.find("\"code\":\"BAD_REQUEST\""), std::string::npos);
  EXPECT_NE(out.find("application/problem+json"), std::string::npos);
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
  peer.send(get("/3"));
  EXPECT_EQ(peer.heard.size(), 1u);
}

TEST(Connection, WrongVersionOfWebSocketIsToldTheRightOne) {
  Peer peer;
  std::string wrong = upgrade;
  wrong.replace(wrong.find("13"), 2, "12");
  peer.send(wrong);
  const std::string out = peer.read();
  EXPECT_TRUE(out.starts_with("HTTP/1.1 426 "));
  EXPECT_NE(out.find("Sec-WebSocket-Version: 13\r\n"), std::string::npos);
}

TEST(Connection, ContinueIsSentOnce) {
  Peer peer;
  peer.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(peer.read(), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("bo");
  peer.send("dy");
  EXPECT_EQ(peer.read(), "");
  EXPECT_EQ(peer.heard, std::vector<std::string>{"POST / body"});
}

TEST(Connection, ContinueIsNotSentWhenTheBodyIsThere) {
  Peer peer;
  peer.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_EQ(peer.read(), "");
  EXPECT_EQ(peer.heard.size(), 1u);
}

TEST(Connection, ContinueWaitsForTheAnswersBeforeIt) {
  Peer peer;
  peer.send(get("/1") +
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(peer.read(), "");
  peer.answer(1);
  EXPECT_TRUE(peer.read().ends_with("answer 1HTTP/1.1 100 Continue\r\n\r\n"));
}

TEST(Connection, ContinueIsNotSentForABodyThatIsTooLarge) {
  Peer peer({.body_bytes_max = 3});
  peer.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_TRUE(peer.read().starts_with("HTTP/1.1 413 "));
}

TEST(Connection, SlowRequestIsTimedOutFromItsFirstByte) {
  Peer peer({.request_timeout = base::seconds(10)});
  peer.send("G");
  for (int count = 0; count < 10; ++count) {
    peer.pass(base::milliseconds(999));
    EXPECT_EQ(peer.read(), "");
    peer.send("E");
  }
  peer.pass(base::seconds(1));
  const std::string out = peer.read();
  EXPECT_TRUE(out.starts_with("HTTP/1.1 408 "));
  EXPECT_NE(out.find("REQUEST_TIMEOUT"), std::string::npos);
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
}

TEST(Connection, SlowBodyIsTimedOut) {
  Peer peer({.request_timeout = base::seconds(10)});
  peer.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
  peer.pass(base::seconds(9));
  peer.send("b");
  peer.pass(base::seconds(2));
  EXPECT_TRUE(peer.read().starts_with("HTTP/1.1 408 "));
}

TEST(Connection, EachRequestHasItsOwnTime) {
  Peer peer({.request_timeout = base::seconds(10)});
  peer.send(get("/1") + "GE");
  peer.pass(base::seconds(6));
  peer.send("T /2 HTTP/1.1\r\nHost: a\r\n\r\nGE");
  peer.pass(base::seconds(6));
  EXPECT_EQ(peer.read(), "");
  EXPECT_EQ(peer.heard.size(), 2u);
  peer.pass(base::seconds(6));
  peer.answer(1);
  peer.answer(2);
  EXPECT_NE(peer.read().find(" 408 "), std::string::npos);
}

TEST(Connection, TimeWhileWeDoNotReadDoesNotCount) {
  Peer peer({.pipelined_max = 1, .request_timeout = base::seconds(10)});
  peer.send(get("/1") + "GE");
  peer.pass(base::seconds(60));
  peer.answer(1);
  peer.connection->resume();
  EXPECT_EQ(peer.read_answers(), "1 ");
  peer.pass(base::seconds(9));
  EXPECT_EQ(peer.read(), "");
  peer.pass(base::seconds(2));
  EXPECT_TRUE(peer.read().starts_with("HTTP/1.1 408 "));
}

TEST(Connection, IdleConnectionEnds) {
  Peer peer({.idle_timeout = base::minutes(5)});
  peer.send(get("/1"));
  peer.pass(base::minutes(60));  // the handler may take its time
  peer.answer(1);
  peer.read();
  peer.pass(base::minutes(4));
  EXPECT_EQ(peer.connection->phase(), Phase::open);
  peer.pass(base::minutes(2));
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

TEST(Connection, PeerThatReadsNothingEnds) {
  Peer peer({.idle_timeout = base::minutes(5)});
  peer.send(get("/1"));
  peer.answer(1);
  peer.pass(base::minutes(4));
  peer.connection->wrote(1);
  peer.pass(base::minutes(4));
  EXPECT_EQ(peer.connection->phase(), Phase::open);
  peer.pass(base::minutes(2));
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

TEST(Connection, PeerThatDoesNotCloseIsDroppedAfterALinger) {
  Peer peer;
  peer.send("\x01");
  peer.read();
  EXPECT_TRUE(peer.connection->output_ended());
  peer.pass(ConnectionState::linger);
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
  peer.pass(base::milliseconds(1));
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

TEST(Connection, ClientThatEndsItsSideGetsTheAnswersOfTheTurn) {
  Peer peer;
  peer.send(get("/1") + get("/2"));
  peer.connection->input_ended();
  peer.answer(1);
  EXPECT_EQ(peer.read_answers(), "1 ");
  peer.connection->end_of_turn();
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

TEST(Connection, ClientThatEndsItsSideReadsAllThatWasAnswered) {
  Peer peer;
  peer.send(get("/1"));
  peer.connection->input_ended();
  peer.answer(1);
  peer.connection->end_of_turn();
  EXPECT_EQ(peer.connection->phase(), Phase::open);
  EXPECT_EQ(peer.read_answers(), "1 ");
  peer.connection->end_of_turn();
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

// One client that pipelines thousands of requests must not hold up all the others.
TEST(Connection, WhatATurnHasNoTimeForIsLeftToTheNext) {
  Peer peer;
  peer.around.turn_is_over = [] { return true; };
  peer.send(get("/1") + get("/2") + get("/3"));
  EXPECT_EQ(peer.heard, std::vector<std::string>{"GET /1"});
  EXPECT_TRUE(peer.connection->is_cut_short());
  EXPECT_FALSE(peer.connection->wants_input());
  peer.connection->resume();
  EXPECT_EQ(peer.heard, (std::vector<std::string>{"GET /1", "GET /2"}));
  EXPECT_TRUE(peer.connection->is_cut_short());
  // A client that has ended its side gets the answers to all that it asked.
  peer.connection->input_ended();
  peer.connection->end_of_turn();
  EXPECT_EQ(peer.connection->phase(), Phase::open);
  peer.connection->resume();
  EXPECT_EQ(peer.heard.size(), 3u);
  EXPECT_FALSE(peer.connection->is_cut_short());
}

TEST(Connection, StreamIsChunked) {
  Peer peer;
  peer.send(get("/stream"));
  peer.connection->start_stream(1, {200, "text/event-stream", "", {}});
  peer.connection->send("data: 1\n\n");
  peer.connection->send("");
  const std::string out = peer.read();
  EXPECT_NE(out.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(out.find("Content-Length"), std::string::npos);
  EXPECT_TRUE(out.ends_with("\r\n\r\n9\r\ndata: 1\n\n\r\n"));
  peer.connection->close(1000, "");
  EXPECT_EQ(peer.read(), "0\r\n\r\n");
  EXPECT_TRUE(peer.connection->output_ended());
}

TEST(Connection, StreamToHttp10EndsWithTheConnection) {
  Peer peer;
  peer.send("GET / HTTP/1.0\r\n\r\n");
  peer.connection->start_stream(1, {200, "text/event-stream", "", {}});
  peer.connection->send("data");
  const std::string out = peer.read();
  EXPECT_TRUE(out.starts_with("HTTP/1.0 200 OK"));
  EXPECT_EQ(out.find("chunked"), std::string::npos);
  EXPECT_TRUE(out.ends_with("\r\n\r\ndata"));
}

TEST(Connection, StreamWaitsForTheAnswersBeforeIt) {
  Peer peer;
  peer.send(get("/1") + get("/stream") + get("/3"));
  peer.connection->start_stream(2, {200, "text/event-stream", "", {}});
  peer.connection->send("data");
  EXPECT_EQ(peer.read(), "");
  EXPECT_GT(peer.connection->buffered(), 0u);
  peer.answer(3);
  peer.answer(1);
  const std::string out = peer.read();
  EXPECT_LT(out.find("answer 1"), out.find("event-stream"));
  EXPECT_TRUE(out.ends_with("4\r\ndata\r\n"));
  EXPECT_EQ(out.find("answer 3"), std::string::npos);
  peer.connection->send("more");
  EXPECT_EQ(peer.read(), "4\r\nmore\r\n");
  peer.send(get("/4"));
  EXPECT_EQ(peer.heard.size(), 3u);
}

TEST(Connection, AnswersBehindAStreamAreNotCounted) {
  Peer peer;
  peer.send(get("/1") + get("/2") + get("/3"));
  peer.answer(2);
  peer.connection->start_stream(1, {200, "text/event-stream", "", {}});
  peer.read();
  EXPECT_EQ(peer.connection->buffered(), 0u);
}

TEST(Connection, StreamToHeadIsAWholeAnswer) {
  Peer peer;
  peer.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  peer.connection->start_stream(1, {200, "text/event-stream", "", {}});
  peer.connection->send("data");
  EXPECT_TRUE(peer.read().ends_with("\r\n\r\n"));
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
}

TEST(Connection, SlowReaderIsToldAndThenClosed) {
  Peer peer({.buffered_max = 1000});
  peer.send(get("/stream"));
  peer.connection->start_stream(1, {200, "text/event-stream", "", {}});
  peer.connection->send(std::string(1000, 'x'));
  EXPECT_GT(peer.connection->buffered(), 1000u);
  peer.connection->wrote(peer.connection->buffered() - 501);
  EXPECT_EQ(peer.heard.back(), "GET /stream");
  peer.connection->wrote(1);
  EXPECT_EQ(peer.heard.back(), "drained");
  EXPECT_TRUE(peer.connection->has_room());
  peer.connection->send(std::string(1600, 'x'));
  EXPECT_FALSE(peer.connection->has_room());
  EXPECT_EQ(peer.connection->phase(), Phase::open);
  peer.connection->send("one too many");
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

// A message that is larger than all that may wait is still sent, alone.
TEST(Connection, MessageLargerThanTheMarkIsSent) {
  Peer peer({.buffered_max = 1000});
  peer.open_websocket();
  peer.connection->send(std::string(5000, 'x'));
  EXPECT_FALSE(peer.connection->has_room());
  EXPECT_EQ(peer.read().size(), 5004u);
  EXPECT_TRUE(peer.connection->has_room());
  EXPECT_EQ(peer.heard, std::vector<std::string>{"drained"});
}

// Whatever it was that filled the buffer, the handler hears when there is room again.
TEST(Connection, RoomIsToldAlsoWhenControlFramesTookIt) {
  Peer peer({.buffered_max = 1000});
  peer.open_websocket();
  for (int count = 0; count < 10; ++count) {
    peer.send(frame(Opcode::ping, std::string(120, 'p')));
  }
  EXPECT_FALSE(peer.connection->has_room());
  peer.read();
  EXPECT_TRUE(peer.connection->has_room());
  EXPECT_EQ(peer.heard, std::vector<std::string>{"drained"});
}

TEST(Connection, WebSocketTalks) {
  Peer peer;
  peer.open_websocket();
  peer.send(frame(Opcode::text, "one") + frame(Opcode::binary, "two"));
  EXPECT_EQ(peer.heard, (std::vector<std::string>{"one", "two"}));
  peer.connection->send("three");
  EXPECT_EQ(peer.read(), "\x81\x05three");
}

TEST(Connection, AcceptNamesTheKeyAndTheProtocol) {
  Peer peer;
  peer.send(upgrade);
  peer.connection->accept_websocket(1, "parley");
  EXPECT_EQ(peer.read(),
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
            "Sec-WebSocket-Protocol: parley\r\n\r\n");
}

TEST(Connection, FramesBehindTheUpgradeWaitForItsAnswer) {
  Peer peer;
  peer.send(upgrade + frame(Opcode::text, "early"));
  EXPECT_EQ(peer.heard.size(), 1u);
  EXPECT_FALSE(peer.connection->wants_input());
  peer.connection->accept_websocket(1, {});
  peer.connection->resume();
  EXPECT_EQ(peer.heard.back(), "early");
}

TEST(Connection, RefusedUpgradeStaysHttp) {
  Peer peer;
  peer.send(upgrade + get("/2"));
  EXPECT_EQ(peer.heard.size(), 1u);
  peer.answer(1);
  peer.connection->resume();
  EXPECT_EQ(peer.heard.back(), "GET /2");
}

TEST(Connection, WebSocketWaitsForTheAnswersBeforeIt) {
  Peer peer;
  peer.send(get("/1") + upgrade);
  peer.connection->accept_websocket(2, {});
  peer.connection->send("hello");
  peer.send(frame(Opcode::ping, "p"));
  EXPECT_EQ(peer.read(), "");
  peer.answer(1);
  const std::string out = peer.read();
  EXPECT_LT(out.find("answer 1"), out.find(" 101 "));
  EXPECT_TRUE(out.ends_with("\x81\x05hello\x8a\x01p"));
}

// RFC 9110, 15.5.22 and 7.8: a 426 names the protocol, and Connection names the field.
TEST(Connection, AcceptOfAPlainRequestIsAnswered426) {
  Peer peer;
  peer.send(get("/ws"));
  peer.connection->accept_websocket(1, {});
  const std::string out = peer.read();
  EXPECT_TRUE(out.starts_with("HTTP/1.1 426 "));
  EXPECT_NE(out.find("\r\nUpgrade: websocket\r\n"), std::string::npos);
  EXPECT_NE(out.find("\r\nConnection: Upgrade\r\n"), std::string::npos);
  EXPECT_NE(out.find("\r\nSec-WebSocket-Version: 13\r\n"), std::string::npos);
  EXPECT_EQ(peer.connection->phase(), Phase::open);
}

// RFC 6455, 9.1: what is not offered back is not used.
TEST(Connection, ExtensionsAndProtocolsOfAClientAreNotTakenUp) {
  Peer peer;
  std::string wants = upgrade;
  wants.insert(wants.size() - 2,
               "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: x, y\r\n");
  peer.send(wants);
  peer.connection->accept_websocket(1, {});
  const std::string out = peer.read();
  EXPECT_TRUE(out.starts_with("HTTP/1.1 101 "));
  EXPECT_EQ(out.find("Extensions"), std::string::npos);
  EXPECT_EQ(out.find("Protocol:"), std::string::npos);
}

TEST(Connection, PingIsAnsweredWithItsPayload) {
  Peer peer;
  peer.open_websocket();
  peer.send(frame(Opcode::ping, "abc"));
  EXPECT_EQ(peer.read(),
            "\x8a\x03"
            "abc");
}

// RFC 6455, 5.4: control frames are answered where they come, not after the message.
TEST(Connection, PingBetweenFragmentsIsAnsweredAtOnce) {
  Peer peer;
  peer.open_websocket();
  std::string start = frame(Opcode::text, "one ");
  start[0] = '\x01';
  peer.send(start + frame(Opcode::ping, "p"));
  EXPECT_EQ(peer.read(), "\x8a\x01p");
  EXPECT_TRUE(peer.heard.empty());
  std::string end = frame(Opcode::text, "two");
  end[0] = '\x80';
  peer.send(end);
  EXPECT_EQ(peer.heard, std::vector<std::string>{"one two"});
}

// RFC 6455, 5.5.3.
TEST(Connection, PongThatNobodyAskedForIsIgnored) {
  Peer peer;
  peer.open_websocket();
  peer.send(frame(Opcode::pong, "unasked"));
  EXPECT_EQ(peer.read(), "");
  EXPECT_EQ(peer.connection->phase(), Phase::open);
}

TEST(Connection, EachPingIsAnsweredInOrder) {
  Peer peer;
  peer.open_websocket();
  peer.send(frame(Opcode::ping, "1") + frame(Opcode::ping, "2") + frame(Opcode::text, "t") +
            frame(Opcode::ping, "3"));
  EXPECT_EQ(peer.read(),
            "\x8a\x01"
            "1\x8a\x01"
            "2\x8a\x01"
            "3");
  EXPECT_EQ(peer.heard, std::vector<std::string>{"t"});
}

// RFC 6455, 5.5.1: no data after a close frame.
TEST(Connection, NothingIsSentBehindACloseFrame) {
  Peer peer;
  peer.open_websocket();
  peer.connection->close(1001, "");
  peer.connection->send("late");
  peer.connection->close(1002, "again");
  EXPECT_EQ(peer.read(), "\x88\x02\x03\xe9");
  Peer other;
  other.open_websocket();
  other.send(frame(Opcode::close, close_payload(1000, "")) + frame(Opcode::ping, "late"));
  other.connection->send("late");
  EXPECT_EQ(other.read(), "\x88\x02\x03\xe8");
}

// RFC 6455, 7.1.1: the server ends the connection first, once both have said so.
TEST(Connection, WebSocketEndsAfterBothCloseFrames) {
  Peer peer;
  peer.open_websocket();
  peer.send(frame(Opcode::close, close_payload(1000, "")));
  peer.connection->end_of_turn();
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
  peer.read();
  peer.connection->end_of_turn();
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

TEST(Connection, PeerThatAnswersNoCloseIsDropped) {
  Peer peer;
  peer.open_websocket();
  peer.connection->close(1001, "");
  peer.read();
  peer.pass(ConnectionState::linger);
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
  peer.pass(base::milliseconds(1));
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

TEST(Connection, CloseIsAnsweredWithItsCode) {
  Peer peer;
  peer.open_websocket();
  peer.send(frame(Opcode::close, close_payload(3001, "done")) + frame(Opcode::text, "late"));
  EXPECT_EQ(peer.read(), "\x88\x02\x0b\xb9");
  EXPECT_TRUE(peer.connection->output_ended());
  EXPECT_TRUE(peer.heard.empty());
}

TEST(Connection, EmptyCloseIsAnsweredEmpty) {
  Peer peer;
  peer.open_websocket();
  peer.send(frame(Opcode::close, ""));
  EXPECT_EQ(peer.read(), std::string("\x88\x00", 2));
}

TEST(Connection, ProtocolErrorIsClosedWithItsCode) {
  Peer peer;
  peer.open_websocket();
  peer.send(frame(Opcode::text, "\xff") + frame(Opcode::text, "late"));
  EXPECT_TRUE(peer.read().substr(2).starts_with("\x03\xef"));  // 1007
  EXPECT_TRUE(peer.connection->output_ended());
  EXPECT_TRUE(peer.heard.empty());
}

TEST(Connection, OurCloseWaitsForThePeers) {
  Peer peer;
  peer.open_websocket();
  peer.connection->close(1001, "bye");
  EXPECT_EQ(peer.read(),
            "\x88\x05\x03\xe9"
            "bye");
  EXPECT_FALSE(peer.connection->output_ended());
  peer.send(frame(Opcode::text, "late") + frame(Opcode::ping, "late"));
  EXPECT_TRUE(peer.heard.empty());
  EXPECT_EQ(peer.read(), "");
  peer.send(frame(Opcode::close, close_payload(1001, "")));
  EXPECT_TRUE(peer.connection->output_ended());
  EXPECT_EQ(peer.read(), "");
}

TEST(Connection, CloseWithACodeThatMayNotBeSentIsNormal) {
  Peer peer;
  peer.open_websocket();
  peer.connection->close(1006, "");
  EXPECT_EQ(peer.read(), "\x88\x02\x03\xe8");
}

TEST(Connection, TwoUnansweredPingsEndAWebSocket) {
  Peer peer({.ping_interval = base::seconds(30)});
  peer.open_websocket();
  const std::string ping("\x89\x00", 2);
  for (int count = 0; count < 5; ++count) {
    peer.pass(base::seconds(30));
    EXPECT_EQ(peer.read(), ping);
    peer.send(frame(Opcode::pong, ""));
  }
  peer.pass(base::seconds(30));
  peer.pass(base::seconds(30));
  EXPECT_EQ(peer.read(), ping + ping);
  peer.send(frame(Opcode::text, "half").substr(0, 8));  // half a frame is no answer
  peer.pass(base::seconds(30));
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

// A reader that is slow, but reads, does not see the ping behind all that waits for it.
TEST(Connection, SlowReaderThatReadsIsAlive) {
  Peer peer({.ping_interval = base::seconds(30)});
  peer.open_websocket();
  peer.connection->send(std::string(1000, 'x'));
  for (int count = 0; count < 20; ++count) {
    peer.pass(base::seconds(10));
    peer.connection->wrote(1);
    peer.pass(base::seconds(20));
  }
  EXPECT_EQ(peer.connection->phase(), Phase::open);
  for (int count = 0; count < 4; ++count) {
    peer.pass(base::seconds(30));
  }
  EXPECT_EQ(peer.connection->phase(), Phase::dead);
}

// The slow loris of WebSockets: a message that never ends, with pongs between its fragments.
TEST(Connection, MessageThatDoesNotEndIsTimedOut) {
  Peer peer({.request_timeout = base::seconds(10)});
  peer.open_websocket();
  std::string fragment = frame(Opcode::text, "a");
  fragment[0] = '\x01';
  peer.send(fragment);
  fragment[0] = '\x00';
  for (int count = 0; count < 10; ++count) {
    peer.pass(base::seconds(1));
    EXPECT_EQ(peer.connection->phase(), Phase::open);
    peer.send(frame(Opcode::pong, "") + fragment);
  }
  peer.pass(base::seconds(1));
  EXPECT_TRUE(peer.read().substr(2).starts_with("\x03\xf0"));  // 1008
  EXPECT_TRUE(peer.connection->output_ended());
}

// We do not read while too much waits for it: it cannot end its message.
TEST(Connection, TimeOfAMessageDoesNotRunWhileWeDoNotRead) {
  Peer peer({.buffered_max = 1000, .request_timeout = base::seconds(10)});
  peer.open_websocket();
  const std::string bytes = frame(Opcode::text, "a whole message");
  peer.send(bytes.substr(0, 9));
  peer.connection->send(std::string(2000, 'x'));
  EXPECT_FALSE(peer.connection->wants_input());
  for (int count = 0; count < 30; ++count) {
    peer.pass(base::seconds(1));
  }
  EXPECT_EQ(peer.connection->phase(), Phase::open);
  peer.read();
  peer.pass(base::seconds(9));
  peer.send(bytes.substr(9));
  EXPECT_EQ(peer.heard.back(), "a whole message");
  peer.send(bytes.substr(0, 9));
  peer.pass(base::seconds(11));
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
}

TEST(Connection, EachMessageHasItsOwnTime) {
  Peer peer({.request_timeout = base::seconds(10)});
  peer.open_websocket();
  const std::string bytes = frame(Opcode::text, "a whole message");
  for (int count = 0; count < 10; ++count) {
    peer.send(bytes.substr(count == 0 ? 0 : 9) + bytes.substr(0, 9));
    peer.pass(base::seconds(8));
    EXPECT_EQ(peer.connection->phase(), Phase::open);
  }
  EXPECT_EQ(peer.heard.size(), 10u);
  peer.send(bytes.substr(9));
  peer.pass(base::seconds(20));
  EXPECT_EQ(peer.connection->phase(), Phase::open);
}

TEST(Connection, ReadingOfAWebSocketPausesWhileTooMuchIsUnread) {
  Peer peer({.buffered_max = 1000});
  peer.open_websocket();
  std::string pings;
  for (int count = 0; count < 100; ++count) {
    pings += frame(Opcode::ping, std::string(100, 'p'));
  }
  peer.send(pings);
  EXPECT_FALSE(peer.connection->wants_input());
  EXPECT_LT(peer.connection->buffered(), 1200u);
}

TEST(Connection, SplitsChangeNothing) {
  const std::string bytes = get("/1") +
                            "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" +
                            get("/3");
  for (size_t part = 1; part <= bytes.size(); ++part) {
    Peer peer;
    for (size_t at = 0; at < bytes.size(); at += part) {
      peer.send(bytes.substr(at, part));
    }
    EXPECT_EQ(peer.heard, (std::vector<std::string>{"GET /1", "POST /2 abcde", "GET /3"}));
  }
}

TEST(Connection, RefusedConnectionIsAnsweredAndClosed) {
  Peer peer;
  peer.connection->refuse({Code::overloaded, "too many", {}});
  EXPECT_TRUE(peer.read().starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(peer.connection->phase(), Phase::closing);
  EXPECT_FALSE(peer.connection->is_known());
}

}  // namespace
}  // namespace parley::net
