// SPDX-License-Identifier: Apache-2.0
#include "net/client/fetch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "net/live_test.h"

namespace parley::net {
namespace {

using State = Fetch::State;

Fetch started(const LiveServer& live, std::string_view method, std::string_view path,
              std::string_view body = {}) {
  auto fetch = Fetch::start({live.url(), "token", {}}, method, path, body, {}, test_patience);
  EXPECT_TRUE(fetch.has_value()) << fetch.error().detail;
  return std::move(*fetch);
}

// Moves it until `done` says so or it is over; gives the body that came.
std::string moved_until(Fetch& fetch, const std::function<bool(const std::string&)>& done) {
  std::string body;
  while (fetch.advance() == State::open) {
    body += fetch.take_body();
    if (done(body)) {
      return body;
    }
    pollfd wanted{fetch.fd(), POLLIN, 0};
    wanted.events = fetch.wants_write() ? POLLIN | POLLOUT : POLLIN;
    if (::poll(&wanted, 1, 60'000) <= 0) {
      ADD_FAILURE() << "nothing comes";
      return body;
    }
  }
  return body + fetch.take_body();
}

bool never(const std::string&) { return false; }

TEST(Fetch, GivesTheWholeAnswer) {
  LiveServer live;
  Fetch fetch = started(live, "POST", "/x", std::string(1'000'000, 'b'));
  EXPECT_EQ(moved_until(fetch, never).size(), 1'000'000u + std::string("POST /x  ").size());
  EXPECT_EQ(fetch.status(), 200);
  EXPECT_EQ(fetch.header("content-type"), "text/plain");
  EXPECT_EQ(fetch.advance(), State::done);
}

TEST(Fetch, GivesAStreamAsItComes) {
  LiveServer live;
  Fetch fetch = started(live, "GET", "/stream");
  live.wait_until([&] { return live.streams.size() == 1; });
  for (const std::string_view part : {"data: 1\n\n", "data: 2\n\n"}) {
    live.on_thread([&] { live.server().send(live.streams.front(), part); });
    EXPECT_EQ(moved_until(fetch, [&](const std::string& got) { return got.size() >= part.size(); }),
              part);
    EXPECT_TRUE(fetch.has_header());
    EXPECT_EQ(fetch.header("content-type"), "text/event-stream");
  }
  live.stop();
  moved_until(fetch, never);
  EXPECT_NE(fetch.advance(), State::open);
}

TEST(Fetch, ManyAreOpenAtOnce) {
  LiveServer live;
  Fetch first = started(live, "GET", "/later");
  Fetch second = started(live, "GET", "/y");
  EXPECT_EQ(first.advance(), State::open);
  EXPECT_EQ(moved_until(second, never), "GET /y  ");
  live.wait_until([&] { return live.later.size() == 1; });
  live.answer_later();
  EXPECT_EQ(moved_until(first, never), "late");
}

TEST(Fetch, GoingAwayClosesTheConnection) {
  LiveServer live;
  {
    Fetch fetch = started(live, "GET", "/stream");
    EXPECT_EQ(fetch.advance(), State::open);
    live.wait_until([&] { return live.streams.size() == 1; });
  }
  live.wait_until([&] { return live.open.empty(); });
}

TEST(Fetch, SaysThatNobodyAnswersOrThatTheAnswerBrokeOff) {
  LiveServer live;
  const std::string url = live.url();
  Fetch fetch = started(live, "GET", "/later");
  live.wait_until([&] {
    (void)fetch.advance();
    return live.later.size() == 1;
  });
  live.stop();
  moved_until(fetch, never);
  EXPECT_EQ(fetch.advance(), State::failed);
  EXPECT_NE(fetch.error().detail.find("was lost"), std::string::npos) << fetch.error().detail;
  EXPECT_FALSE(Fetch::start({"http://127.0.0.1:1", {}, {}}, "GET", "/", {}, {}, test_patience));
  EXPECT_FALSE(Fetch::start({"nowhere", {}, {}}, "GET", "/", {}, {}, test_patience));
}

}  // namespace
}  // namespace parley::net
