// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace parley::net {
namespace {

using State = RequestParser::State;

constexpr RequestParser::Limits limits{.header_bytes_max = 1000, .body_bytes_max = 100};

// Feeds in parts of at most `part` bytes, and gives back what was left unread at the end.
std::string feed(RequestParser& parser, std::string_view bytes, size_t part = SIZE_MAX) {
  std::string kept;
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, part);
    bytes.remove_prefix(next.size());
    kept += next;
    kept.erase(0, parser.feed(kept));
    if (parser.state() == State::head) {
      parser.take_body();
      kept.erase(0, parser.feed(kept));
    }
    EXPECT_LE(kept.size(), parser.state() == State::need_more ? limits.header_bytes_max : SIZE_MAX);
  }
  return kept;
}

struct Outcome {
  State state = State::need_more;
  Code code = Code::not_found;
  std::string body;

  bool operator==(const Outcome&) const = default;
};

// What comes of `bytes`, which does not depend on how they are split.
Outcome outcome(std::string_view bytes) {
  std::vector<Outcome> all;
  // In parts of one size, then in two parts cut at each place.
  std::vector<std::pair<size_t, size_t>> cuts = {{0, SIZE_MAX}, {0, 1}, {0, 2}, {0, 5}, {0, 64}};
  for (size_t at = 1; at < std::min<size_t>(bytes.size(), 200); ++at) {
    cuts.emplace_back(at, SIZE_MAX);
  }
  for (const auto& [first, part] : cuts) {
    RequestParser parser(limits);
    const std::string kept = feed(parser, bytes.substr(0, first), SIZE_MAX);
    feed(parser, kept + std::string(bytes.substr(first)), part);
    Outcome one{.state = parser.state()};
    if (one.state == State::failed) {
      one.code = parser.error().code;
    } else if (one.state == State::complete) {
      one.body = parser.body();
    }
    all.push_back(one);
    EXPECT_EQ(all.front(), one) << "in parts of " << first << ", " << part << ": " << bytes;
  }
  return all.front();
}

void expect_refused(std::string_view bytes, Code code) {
  const Outcome got = outcome(bytes);
  EXPECT_EQ(got.state, State::failed) << bytes;
  EXPECT_EQ(got.code, code) << bytes;
}

// Which of two counts is nobody's to choose.
TEST(RequestParser, TwoTokensOriginsOrSignaturesAreRefused) {
  for (const std::string name : {"Authorization", "Origin", "X-Hub-Signature-256"}) {
    RequestParser parser({.header_bytes_max = 1'000, .body_bytes_max = 1'000});
    parser.feed("GET / HTTP/1.1\r\nHost: a\r\n" + name + ": x\r\n" + name + ": x\r\n\r\n");
    EXPECT_EQ(parser.state(), RequestParser::State::failed);
    EXPECT_EQ(parser.error().code, Code::bad_request);
  }
}

TEST(RequestParser, GivesThePartsOfARequest) {
  RequestParser parser(limits);
  EXPECT_EQ(feed(parser,
                 "POST /v1/messages?wait=30s&x HTTP/1.1\r\nHost: here:1\r\nX-Thing:  two words \r\n"
                 "Content-Length: 4\r\n\r\nbodyGET"),
            "GET");
  ASSERT_EQ(parser.state(), State::complete);
  EXPECT_EQ(parser.method(), "POST");
  EXPECT_EQ(parser.path(), "/v1/messages");
  EXPECT_EQ(parser.query(), "wait=30s&x");
  EXPECT_EQ(parser.body(), "body");
  EXPECT_EQ(parser.header("host"), "here:1");
  EXPECT_EQ(parser.header("x-thing"), "two words");
  EXPECT_EQ(parser.header("absent"), "");
  EXPECT_TRUE(parser.keep_alive());
  EXPECT_FALSE(parser.is_http_1_0());
  EXPECT_FALSE(parser.wants_websocket());
}

TEST(RequestParser, ReadsOneAfterAnother) {
  RequestParser parser(limits);
  std::string rest =
      feed(parser, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n");
  EXPECT_EQ(parser.path(), "/1");
  parser.reset();
  rest = feed(parser, rest);
  ASSERT_EQ(parser.state(), State::complete);
  EXPECT_EQ(parser.path(), "/2");
  EXPECT_EQ(parser.header("host"), "b");
}

TEST(RequestParser, TakesEmptyLinesBeforeARequest) {
  EXPECT_EQ(outcome("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").state, State::complete);
}

TEST(RequestParser, TakesTheAbsoluteForm) {
  RequestParser parser(limits);
  feed(parser, "GET http://here:1/path?q HTTP/1.1\r\nHost: here:1\r\n\r\n");
  EXPECT_EQ(parser.path(), "/path");
  EXPECT_EQ(parser.query(), "q");
  parser.reset();
  feed(parser, "GET http://here?q HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_EQ(parser.path(), "/");
  EXPECT_EQ(parser.query(), "q");
  parser.reset();
  feed(parser, "GET http://here HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_EQ(parser.path(), "/");
  parser.reset();
  feed(parser, "GET /a?to=http://b/c HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_EQ(parser.path(), "/a");
}

TEST(RequestParser, ReadsAChunkedBody) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(outcome(head + "4\r\nbody\r\n6;x=y\r\n parts\r\n0\r\n\r\n").body, "body parts");
  EXPECT_EQ(outcome(head + "0\r\nTrailer: x\r\n\r\n").state, State::complete);
}

TEST(RequestParser, TrailersAreNoHeaders) {
  RequestParser parser(limits);
  feed(parser,
       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
       "0\r\nAuthorization: Bearer x\r\n\r\n");
  ASSERT_EQ(parser.state(), State::complete);
  EXPECT_EQ(parser.header("authorization"), "");
}

TEST(RequestParser, HeaderOverTheLimitIsRefused) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::string fill(limits.header_bytes_max - start.size() - 7, 'f');
  EXPECT_EQ(outcome(start + "X: " + fill + "\r\n\r\n").state, State::complete);
  expect_refused(start + "X: f" + fill + "\r\n\r\n", Code::header_too_large);
  expect_refused(start + "X: " + std::string(5000, 'f'), Code::header_too_large);
  expect_refused(std::string(5000, 'G'), Code::header_too_large);
}

TEST(RequestParser, HeaderOverTheLimitInManyFieldsIsRefused) {
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int count = 0; count < 200; ++count) {
    many += "X: yyyyy\r\n";
  }
  expect_refused(many, Code::header_too_large);
}

TEST(RequestParser, BodyOverTheLimitIsRefused) {
  expect_refused("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n",
                 Code::payload_too_large);
  expect_refused("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n",
                 Code::payload_too_large);
  std::string chunks = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int count = 0; count < 11; ++count) {
    chunks += "a\r\n0123456789\r\n";
  }
  expect_refused(chunks, Code::payload_too_large);
}

TEST(RequestParser, ChunkExtensionsAndTrailersHaveTheLimitOfAHeader) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect_refused(head + "1;" + std::string(5000, 'x'), Code::header_too_large);
  expect_refused(head + "0\r\nT: " + std::string(5000, 'x'), Code::header_too_large);
  expect_refused(head + "0\r\nT: " + std::string(5000, 'x') + "\r\n\r\n", Code::header_too_large);
}

TEST(RequestParser, OtherVersionsAreNotSupported) {
  expect_refused("GET / HTTP/2.0\r\nHost: a\r\n\r\n", Code::version_not_supported);
  expect_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Code::version_not_supported);
  expect_refused("GET / HTTP/0.9\r\n\r\n", Code::version_not_supported);
}

TEST(RequestParser, GarbageIsRefused) {
  for (const std::string_view bytes :
       {"\x16\x03\x01\x02", " GET / HTTP/1.1\r\n\r\n", "GET\r\n\r\n\r\n\r\n",
        "GET / FTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nNo colon\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n"}) {
    expect_refused(bytes, Code::bad_request);
  }
}

// What lets two servers read the same bytes as different requests.
TEST(RequestParser, AmbiguousLengthsAreRefused) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const std::string_view fields :
       {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 4x\r\n",
        "Content-Length: +4\r\n",
        "Content-Length:\r\n",
        "Content-Length: 4, 4\r\n",
        "Content-Length: 4, 5\r\n",
        "Content-Length: 0x4\r\n",
        "Content-Length: 4 4\r\n",
        "Content-Length: 4.0\r\n",
        "Content-Length: \"4\"\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n",
        "Transfer-Encoding:\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked;q=1\r\n",
        "Transfer-Encoding: identity\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
    expect_refused(head + std::string(fields) + "\r\n", Code::bad_request);
  }
  expect_refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Code::bad_request);
}

TEST(RequestParser, BadChunksAreRefused) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect_refused(head + "x\r\n", Code::bad_request);
  expect_refused(head + "4\r\nbodyXX\r\n", Code::bad_request);
  expect_refused(head + "-4\r\nbody", Code::bad_request);
  expect_refused(head + "fffffffffffffffff\r\nbody", Code::bad_request);
  for (const std::string_view bad :
       {"+4\r\nbody\r\n0\r\n\r\n", "0x4\r\nbody\r\n0\r\n\r\n", " 4\r\nbody\r\n0\r\n\r\n",
        "\r\n4\r\nbody\r\n0\r\n\r\n", "4\nbody\r\n0\r\n\r\n", "4\r\nbody\n0\r\n\r\n",
        "4\r\nbody0\r\n\r\n", ";x\r\nbody\r\n0\r\n\r\n", "4;x\nbody\r\n0\r\n\r\n",
        "4 x\r\nbody\r\n0\r\n\r\n", "0\r\nno colon\r\n\r\n", "0\r\nX : a\r\n\r\n"}) {
    expect_refused(head + std::string(bad), Code::bad_request);
  }
}

// RFC 9112, 2.2: a line ends with CR LF. What takes less reads other requests than its neighbour.
TEST(RequestParser, BareLineEndsAreRefused) {
  for (const std::string_view bytes :
       {"GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    expect_refused(bytes, Code::bad_request);
  }
}

// The lines of a header end with the empty one, even where that comes in a part of its own.
TEST(RequestParser, WhatFollowsTheHeaderHasNoLines) {
  EXPECT_EQ(outcome("GET / HTTP/1.0\r\n\r\nany\nbytes\n").state, State::complete);
  const Outcome post = outcome("POST / HTTP/1.0\r\nContent-Length: 4\r\n\r\na\nb\n");
  EXPECT_EQ(post.state, State::complete);
  EXPECT_EQ(post.body, "a\nb\n");
}

// RFC 9112, 5.2: a field that goes on in the next line may be refused, and neighbours differ in it.
TEST(RequestParser, FoldedFieldsAreRefused) {
  for (const std::string_view fields :
       {"X: a\r\n b\r\n", "X: a\r\n\tb\r\n", "X:\r\n b\r\n", "X: a\r\n \r\n",
        "Transfer-Encoding:\r\n chunked\r\n", "Content-Length: 1\r\n 0\r\n"}) {
    expect_refused("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n",
                   Code::bad_request);
  }
  expect_refused("GET / HTTP/1.1\r\n Host: a\r\n\r\n", Code::bad_request);
}

TEST(RequestParser, BadCharactersInNamesAndValuesAreRefused) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (const std::string& field :
       {std::string("X Y: a"), std::string("X\x7f: a"), std::string("X\0: a", 5),
        std::string(": a"), std::string("X: a\0b", 6), std::string("X: a\x7f"),
        std::string("\xff: a"),
        std::string("Transfer-Encoding: \x0b"
                    "chunked")}) {
    expect_refused(head + field + "\r\n\r\n", Code::bad_request);
  }
}

// RFC 9112, 3.2.2: a target with a host beats the Host header.
TEST(RequestParser, HostOfTheTargetBeatsTheHeader) {
  RequestParser parser(limits);
  feed(parser, "GET http://there:2/path HTTP/1.1\r\nHost: here:1\r\n\r\n");
  ASSERT_EQ(parser.state(), State::complete);
  EXPECT_EQ(parser.header("host"), "there:2");
  parser.reset();
  feed(parser, "GET /path HTTP/1.1\r\nHost: here:1\r\n\r\n");
  EXPECT_EQ(parser.header("host"), "here:1");
}

TEST(RequestParser, ConnectionSaysWhetherItIsKept) {
  const auto keep_alive = [](std::string_view bytes) {
    RequestParser parser(limits);
    feed(parser, bytes);
    EXPECT_EQ(parser.state(), State::complete);
    return parser.keep_alive();
  };
  EXPECT_TRUE(keep_alive("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keep_alive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

// The head is there before a byte of the body was taken.
TEST(RequestParser, StopsBehindTheHeadOfARequestWithABody) {
  for (const std::string_view framing : {"Content-Length: 4", "Transfer-Encoding: chunked"}) {
    RequestParser parser(limits);
    const std::string head =
        "POST /a?b HTTP/1.1\r\nHost: h\r\n" + std::string(framing) + "\r\n\r\n";
    EXPECT_EQ(parser.feed(head + "4\r\nbody\r\n"), head.size());
    ASSERT_EQ(parser.state(), State::head);
    EXPECT_EQ(parser.path(), "/a");
    EXPECT_EQ(parser.query(), "b");
    EXPECT_EQ(parser.header("host"), "h");
    EXPECT_EQ(parser.feed("body"), 0u);
    EXPECT_GT(parser.held_bytes(), 0u);
    parser.reset();
    EXPECT_EQ(parser.held_bytes(), 0u);
    EXPECT_EQ(parser.feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 27u);
    EXPECT_EQ(parser.state(), State::complete);
  }
}

TEST(RequestParser, ExpectsContinueBetweenHeaderAndBody) {
  RequestParser parser(limits);
  const std::string head =
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n";
  const std::string rest = feed(parser, head);
  EXPECT_FALSE(parser.expects_continue());
  feed(parser, rest + "\r\n");
  EXPECT_TRUE(parser.expects_continue());
  feed(parser, "x");
  EXPECT_FALSE(parser.expects_continue());
}

std::string upgrade(std::string_view version, std::string_view key,
                    std::string_view connection = "keep-alive, Upgrade",
                    std::string_view start = "GET /ws HTTP/1.1") {
  return std::string(start) +
         "\r\nHost: a\r\nUpgrade: WebSocket\r\nConnection: " + std::string(connection) +
         "\r\nSec-WebSocket-Version: " + std::string(version) +
         "\r\nSec-WebSocket-Key: " + std::string(key) + "\r\n\r\n";
}

TEST(RequestParser, KnowsAWebSocket) {
  RequestParser parser(limits);
  feed(parser, upgrade("13", "dGhlIHNhbXBsZSBub25jZQ=="));
  ASSERT_EQ(parser.state(), State::complete);
  EXPECT_TRUE(parser.wants_websocket());
}

// RFC 6455, 4.2.1: the tokens stand in lists, which may be spread over several fields.
TEST(RequestParser, KnowsAWebSocketByTokensInLists) {
  for (const std::string_view fields :
       {"Upgrade: WEBSOCKET\r\nConnection: keep-alive\r\nConnection: UPGRADE\r\n",
        "Upgrade: h2c, websocket\r\nConnection: close,upgrade\r\n"}) {
    RequestParser parser(limits);
    feed(parser, "GET /ws HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Version: 13\r\n" +
                     std::string(fields) + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    ASSERT_EQ(parser.state(), State::complete) << fields;
    EXPECT_TRUE(parser.wants_websocket()) << fields;
  }
}

TEST(RequestParser, UpgradeThatConnectionDoesNotNameIsNone) {
  RequestParser parser(limits);
  feed(parser, upgrade("13", "dGhlIHNhbXBsZSBub25jZQ==", "keep-alive"));
  ASSERT_EQ(parser.state(), State::complete);
  EXPECT_FALSE(parser.wants_websocket());
}

TEST(RequestParser, BadUpgradesAreRefused) {
  const std::string_view key = "dGhlIHNhbXBsZSBub25jZQ==";
  expect_refused(upgrade("8", key), Code::upgrade_required);
  expect_refused(upgrade("", key), Code::upgrade_required);
  for (const std::string_view bad :
       {"", "short", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZ!==",
        "dGhlIHNhbXBsZSBub25jZR==", "dGhlIHNhbXBsZSBub25jZQ==x"}) {
    expect_refused(upgrade("13", bad), Code::bad_request);
  }
  const std::string twice = "13\r\nSec-WebSocket-Version: 13";
  expect_refused(upgrade(twice, key), Code::bad_request);
  expect_refused(upgrade("13", std::string(key) + "\r\nSec-WebSocket-Key: " + std::string(key)),
                 Code::bad_request);
  expect_refused(upgrade("13", std::string(key) + "\r\nContent-Length: 1") + "x",
                 Code::bad_request);
  std::string no_host = upgrade("13", key);
  no_host.erase(no_host.find("Host: a\r\n"), 9);
  expect_refused(no_host, Code::bad_request);
  expect_refused(upgrade("13", key, "Upgrade", "POST /ws HTTP/1.1"), Code::bad_request);
  expect_refused(upgrade("13", key, "Upgrade", "GET /ws HTTP/1.0"), Code::bad_request);
}

TEST(ResponseParser, ReadsWhatTheServerWrites) {
  Response response{201, "text/plain", "body", {{"Location", "/x"}}};
  std::string bytes;
  append_response(bytes, response, {}, "now");
  ResponseParser parser({1000, 1000}, false);
  EXPECT_EQ(parser.feed(bytes), bytes.size());
  ASSERT_EQ(parser.state(), State::complete);
  EXPECT_EQ(parser.status(), 201);
  EXPECT_EQ(parser.body(), "body");
  EXPECT_TRUE(parser.keep_alive());
  const auto& headers = parser.headers();
  EXPECT_TRUE(std::ranges::find(headers, std::pair<std::string, std::string>("location", "/x")) !=
              headers.end());
}

TEST(ResponseParser, EndCompletesABodyWithoutALength) {
  ResponseParser parser({1000, 1000}, false);
  parser.feed("HTTP/1.0 200 OK\r\n\r\nall of it");
  EXPECT_EQ(parser.state(), State::need_more);
  parser.feed_end();
  ASSERT_EQ(parser.state(), State::complete);
  EXPECT_EQ(parser.body(), "all of it");
}

TEST(ResponseParser, EndWithinABodyFails) {
  ResponseParser parser({1000, 1000}, false);
  parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart");
  parser.feed_end();
  EXPECT_EQ(parser.state(), State::failed);
  ResponseParser empty({1000, 1000}, false);
  empty.feed_end();
  EXPECT_EQ(empty.state(), State::failed);
}

TEST(Answer, HeadHasTheLengthAndNoBody) {
  std::string bytes;
  append_response(bytes, {200, "text/plain", "body", {}}, {.to_head = true}, "now");
  EXPECT_EQ(
      bytes,
      "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n");
}

TEST(Answer, NoContentHasNoLength) {
  std::string bytes;
  append_response(bytes, {204, "text/plain", "", {}}, {.keep_alive = false}, "now");
  EXPECT_EQ(bytes, "HTTP/1.1 204 No Content\r\nDate: now\r\nConnection: close\r\n\r\n");
}

TEST(Answer, ValueCannotStartAHeader) {
  std::string bytes;
  append_response(bytes, {200, "", "", {{"X", "a\r\nSet-Cookie: b"}}}, {}, "now");
  EXPECT_EQ(bytes.find("\nSet-Cookie"), std::string::npos);
}

TEST(Answer, NoBytesAreNoChunk) {
  std::string bytes;
  append_chunk(bytes, "");
  EXPECT_EQ(bytes, "");
  append_chunk(bytes, std::string(26, 'x'));
  EXPECT_EQ(bytes, "1a\r\n" + std::string(26, 'x') + "\r\n");
}

TEST(Answer, DateIsTheExampleOfTheRfc) {
  EXPECT_EQ(http_date(Time{784'111'777'000'000}), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(Lists, HoldTokensInEitherCase) {
  EXPECT_TRUE(list_holds("keep-alive , Upgrade", "upgrade"));
  EXPECT_FALSE(list_holds("keep-alive, Upgraded", "upgrade"));
  EXPECT_FALSE(list_holds("", "upgrade"));
  EXPECT_FALSE(list_holds(",, ,", "upgrade"));
}

}  // namespace
}  // namespace parley::net
