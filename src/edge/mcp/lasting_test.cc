// SPDX-License-Identifier: Apache-2.0
// What lasts longer than a request: sessions, streams and subscriptions, and how each ends.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "edge/mcp/server_test.h"

namespace parley::edge::mcp {
namespace {

constexpr std::string_view ping = R"({"jsonrpc":"2.0","id":2,"method":"ping"})";
constexpr std::string_view watched = "test://watched-resource";

std::string subscribe_text(std::string_view uri, std::string_view what = "subscribe") {
  return R"({"jsonrpc":"2.0","id":4,"method":"resources/)" + std::string(what) +
         R"(","params":{"uri":")" + std::string(uri) + R"("}})";
}

// The id of the first event in what a stream told.
std::string first_id(std::string_view told) {
  return std::string(told.substr(4, told.find('\n') - 4));
}

Headers behind(Headers headers, std::string_view id) {
  headers["last-event-id"] = id;
  return headers;
}

TEST_F(McpServer, ASessionEndsByDeleteOnly) {
  const Headers first = begin();
  EXPECT_EQ(answer(ask("DELETE", first, "")).status, 204);
  EXPECT_EQ(answer(post(first, ping)).status, 404);
  // One that nobody uses leaves memory, and comes back.
  const Headers second = begin();
  pass(base::Duration{Limits{}.session_idle.us + base::seconds(1).us});
  EXPECT_EQ(server_.sessions(), 0u);
  EXPECT_EQ(answer(post(second, ping)).status, 200);
  EXPECT_EQ(server_.sessions(), 1u);
}

class McpFewSessions : public McpServer {
 public:
  McpFewSessions() : McpServer({.sessions_per_principal_max = 2, .streams_per_principal_max = 2}) {}
};

TEST_F(McpFewSessions, OneMoreEndsTheOneThatWasIdleForLongest) {
  const Headers first = begin();
  pass(base::seconds(1));
  const Headers second = begin();
  pass(base::seconds(1));
  post(first, R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  const Headers third = begin();
  EXPECT_EQ(server_.sessions(), 2u);
  // It comes back in place of another when it is used again.
  EXPECT_EQ(answer(post(second, R"({"jsonrpc":"2.0","id":3,"method":"ping"})")).status, 200);
  EXPECT_EQ(server_.sessions(), 2u);
  // With streams open none is idle.
  ask("GET", second, "");
  ask("GET", third, "");
  begin();
  EXPECT_EQ(answer(connection_).status, 429);
  EXPECT_EQ(answer(post(first, R"({"jsonrpc":"2.0","id":3,"method":"ping"})")).status, 404);
  EXPECT_EQ(answer(ask("GET", legacy_headers, "")).status, 429);
  // Another connection in place of the session's own is none more.
  EXPECT_EQ(answer(ask("GET", third, "")).status, 200);
  // A session whose stream is closed is idle again.
  server_.on_closed(connection_);
  begin();
  EXPECT_EQ(answer(connection_).status, 200);
}

class McpFewStreams : public McpServer {
 public:
  McpFewStreams() : McpServer({.streams_max = 3}) {}
};

TEST_F(McpFewStreams, OneMoreOfAllIsRefused) {
  const Headers session = begin();
  ask("GET", session, "");
  const auto first = post(session, call("3", "wait"));
  modern_call("wait");
  EXPECT_EQ(server_.streams(), 3u);
  EXPECT_EQ(answer(modern_call("wait")).status, 429);
  EXPECT_TRUE(has(text(connection_), R"("id":7,"error":{"code":-31000)"));
  EXPECT_EQ(answer(post(session, ping)).status, 429);
  // One without its client counts as well.
  pass(Limits{}.stream_after);
  server_.on_closed(first);
  EXPECT_EQ(answer(post(session, ping)).status, 429);
  waiting_.at(0).done(tool_text("done"));
  EXPECT_EQ(answer(post(session, ping)).status, 200);
}

TEST_F(McpServer, ASessionOutlivesTheServerWithItsKey) {
  const lib::SecretKey key = lib::random_key();
  const auto ping_status = [&](Server& server, const Headers& headers) {
    return answer(post(headers, R"({"jsonrpc":"2.0","id":2,"method":"ping"})", {}, &server)).status;
  };
  Headers headers;
  {
    Server first(wire_, clock_, {.version = {}, .key = key});
    headers = begin("2025-06-18", "{}", &first);
    EXPECT_EQ(ping_status(first, headers), 200);
  }
  Server second(wire_, clock_, {.version = {}, .key = key});
  EXPECT_EQ(ping_status(second, headers), 200);
  EXPECT_EQ(second.sessions(), 1u);
  Server other(wire_, clock_, {.version = {}});
  EXPECT_EQ(ping_status(other, headers), 404);
  caller_.name = "bob";
  Server third(wire_, clock_, {.version = {}, .key = key});
  EXPECT_EQ(ping_status(third, headers), 404);
  caller_.name = "ana";
  clock_.advance(Limits{}.session_life);
  clock_.advance(base::seconds(1));
  EXPECT_EQ(ping_status(third, headers), 404);
}

TEST_F(McpServer, InTheLegacyEraTheAnswerIsKeptForOneWhoComesBack) {
  const Headers session = begin();
  const auto at = post(session, call("3", "wait"));
  pass(Limits{}.stream_after);
  const std::string id = text(at).substr(4, text(at).find('\n') - 4);
  server_.on_closed(at);
  EXPECT_EQ(cancelled_, 0);
  waiting_.at(0).done(tool_text("done"));
  Headers again = session;
  again["last-event-id"] = id;
  const auto back = ask("GET", again, "");
  EXPECT_TRUE(has(text(back), R"("id":3,"result")"));
  EXPECT_TRUE(wire_.closed.contains(back));
  // Before the answer is there, too.
  const auto second = post(session, call("4", "wait"));
  pass(Limits{}.stream_after);
  again["last-event-id"] = text(second).substr(4, text(second).find('\n') - 4);
  server_.on_closed(second);
  const auto third = ask("GET", again, "");
  EXPECT_FALSE(wire_.closed.contains(third));
  waiting_.at(1).done(tool_text("done"));
  EXPECT_TRUE(has(text(third), R"("id":4,"result")"));
  EXPECT_TRUE(wire_.closed.contains(third));
}

TEST_F(McpServer, WhoDoesNotComeBackInTimeIsNotWaitedFor) {
  const auto at = post(begin(), call("3", "wait"));
  pass(Limits{}.stream_after);
  server_.on_closed(at);
  pass(base::Duration{Limits{}.resume_within.us + base::seconds(2).us});
  EXPECT_EQ(cancelled_, 1);
}

TEST_F(McpServer, SubscribersHearOfWhatTheySubscribedTo) {
  constexpr std::string_view uri = "test://watched-resource";
  const Headers session = begin();
  const auto subscribe = [&](std::string_view what) {
    return text(post(session, R"({"jsonrpc":"2.0","id":4,"method":"resources/)" +
                                  std::string(what) + R"(","params":{"uri":")" + std::string(uri) +
                                  R"("}})"));
  };
  EXPECT_FALSE(server_.has_subscribers());
  subscribe("subscribe");
  EXPECT_TRUE(server_.has_subscribers());
  // Told when the client has a stream for it, and once.
  server_.updated(caller_.workspace, "ana", uri);
  server_.updated(caller_.workspace, {}, uri);
  server_.updated(caller_.workspace, "bob", uri);
  const auto stream = ask("GET", session, "");
  const std::string expected =
      R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":")" +
      std::string(uri) + R"("}})";
  EXPECT_TRUE(has(text(stream), expected));
  EXPECT_EQ(text(stream).find(expected), text(stream).rfind(expected));
  const auto listening =
      post(modern("subscriptions/listen"),
           R"({"jsonrpc":"2.0","id":77,"method":"subscriptions/listen","params":{"notifications":)"
           R"({"resourceSubscriptions":["test://watched-resource","test://nothing"]},)" +
               meta() + "}}");
  EXPECT_TRUE(has(text(listening), "notifications/subscriptions/acknowledged"));
  EXPECT_TRUE(has(text(listening), R"("resourceSubscriptions":["test://watched-resource"])"));
  wire_.room = false;
  server_.updated(caller_.workspace, {}, uri);
  turn();
  EXPECT_FALSE(has(text(listening), "resources/updated"));
  wire_.room = true;
  server_.on_drained(listening);
  turn();
  EXPECT_TRUE(has(text(listening), R"(resources/updated","params":{"_meta":{)"
                                   R"("io.modelcontextprotocol/subscriptionId":77},"uri")"));
  subscribe("unsubscribe");
  server_.on_closed(listening);
  EXPECT_FALSE(server_.has_subscribers());
}

TEST_F(McpServer, AStreamEndsWithItsToken) {
  const auto stream = ask("GET", begin(), "");
  wire_.gone.insert("ana");
  pass(base::seconds(2));
  EXPECT_TRUE(wire_.closed.contains(stream));
}

TEST_F(McpServer, AWaitingCallEndsWithItsToken) {
  Headers session = begin();
  session["accept"] = "application/json";
  const auto at = post(session, call("3", "wait"));
  const auto now = modern_call("wait");
  wire_.gone.insert("ana");
  pass(base::seconds(1));
  EXPECT_EQ(cancelled_, 2);
  EXPECT_EQ(answer(at).status, 401);
  EXPECT_TRUE(has(answer(now).content_type, "event-stream") ? wire_.closed.contains(now)
                                                            : answer(now).status == 401);
  EXPECT_EQ(server_.streams(), 0u);
}

TEST_F(McpServer, ASessionsOwnStreamLeavesNothingBehind) {
  const Headers session = begin();
  for (int n = 0; n < 100; ++n) {
    server_.on_closed(ask("GET", session, ""));
  }
  EXPECT_EQ(server_.streams(), 0u);
}

TEST_F(McpServer, NothingIsBehindAnUnknownEvent) {
  const Headers session = begin();
  const auto own = ask("GET", session, "");
  for (const std::string_view id : {"999999-1", "0-0", "-", "s", "x", "18446744073709551616-1"}) {
    EXPECT_EQ(answer(ask("GET", behind(session, id), "")).status, 410) << id;
  }
  EXPECT_EQ(server_.streams(), 1u);
  EXPECT_FALSE(wire_.closed.contains(own));
  // Another's call is unknown, too.
  const auto at = post(session, call("3", "wait"));
  pass(Limits{}.stream_after);
  EXPECT_EQ(answer(ask("GET", behind(begin(), first_id(text(at))), "")).status, 410);
  EXPECT_FALSE(wire_.closed.contains(at));
}

TEST_F(McpServer, TheSessionsOwnStreamGoesOnWithAnotherConnection) {
  const Headers session = begin();
  post(session, subscribe_text(watched));
  const auto updated = [&] {
    server_.updated(caller_.workspace, {}, watched);
    turn();
  };
  const auto first = ask("GET", session, "");
  const std::string id = first_id(text(first));
  updated();  // which the client did not get
  const auto second = ask("GET", behind(session, id), "");
  EXPECT_TRUE(wire_.closed.contains(first));
  EXPECT_TRUE(has(text(second), "resources/updated"));
  // It comes back once more by an id of the first: what it missed on the second is there.
  server_.on_closed(second);
  updated();
  const auto third = ask("GET", behind(session, id), "");
  const std::string& told = text(third);
  const size_t at = told.find("resources/updated");
  EXPECT_NE(told.find("resources/updated", at + 1), std::string::npos);
  EXPECT_EQ(server_.streams(), 1u);
}

// An id of an event is good in one life of the broker: its numbers do not begin anew.
TEST_F(McpServer, SubscriptionsOutliveTheServer) {
  const lib::SecretKey key = lib::random_key();
  const std::string path = testing::TempDir() + "mcp_sessions_" + std::to_string(::getpid());
  std::filesystem::remove(path);
  const auto start = [&] {
    auto made = std::make_unique<Server>(
        wire_, clock_,
        Server::Options{.version = {},
                        .key = key,
                        .saved_sessions = std::move(*SavedSessions::open(path, clock_.now(), {}))});
    made->add(fixtures(*made));
    return made;
  };
  auto server = start();
  const Headers kept = begin("2025-11-25", "{}", server.get());
  const Headers ended = begin("2025-11-25", "{}", server.get());
  post(kept, subscribe_text(watched), {}, server.get());
  post(ended, subscribe_text(watched), {}, server.get());
  const std::string id = first_id(text(ask("GET", kept, "", {}, server.get())));
  EXPECT_EQ(answer(ask("DELETE", ended, "", {}, server.get())).status, 204);
  server.reset();
  clock_.advance(base::seconds(1));
  server = start();
  EXPECT_EQ(answer(post(ended, ping, {}, server.get())).status, 404);
  // It may have changed meanwhile, so that is told at once.
  const auto back = ask("GET", behind(kept, id), "", {}, server.get());
  server->on_turn(clock_.now());
  const auto times = [&] {
    size_t count = 0;
    for (size_t at = 0; (at = text(back).find(watched, at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(times(), 1u);
  server->updated(caller_.workspace, "ana", watched);
  server->on_turn(clock_.now());
  EXPECT_EQ(times(), 2u);
  // What is given up is given up for good.
  post(kept, subscribe_text(watched, "unsubscribe"), {}, server.get());
  server = start();
  post(kept, ping, {}, server.get());
  EXPECT_FALSE(server->has_subscribers());
  std::filesystem::remove(path);
}

TEST_F(McpServer, ASubscriberHearsOfItsOwnSpelling) {
  server_.add({.templates = {{.uri = "test://threads/{id}",
                              .name = "thread",
                              .title = {},
                              .description = {},
                              .read = [](const CallContext&) {},
                              .subscribable = true}}});
  const Headers session = begin();
  post(session, subscribe_text("test://threads/feature:login"));
  post(session, subscribe_text("test://threads/feature%3alogin"));
  const auto stream = ask("GET", session, "");
  server_.updated(caller_.workspace, "ana", "test://threads/feature%3Alogin");
  turn();
  EXPECT_TRUE(has(text(stream), R"("uri":"test://threads/feature:login")"));
  EXPECT_TRUE(has(text(stream), R"("uri":"test://threads/feature%3alogin")"));
  const auto third = post(session, subscribe_text("test://thr%65ads/feature:login"));
  EXPECT_TRUE(has(text(third), "-31000") || has(text(third), "-32602")) << text(third);
  EXPECT_TRUE(has(text(post(session, subscribe_text("test://threads/featur%65:login"))), "-31000"));
  post(session, subscribe_text("test://threads/feature%3alogin", "unsubscribe"));
  EXPECT_TRUE(server_.has_subscribers());
  post(session, subscribe_text("test://threads/feature:login", "unsubscribe"));
  EXPECT_FALSE(server_.has_subscribers());
  const std::string long_uri = "test://threads/" + std::string(Limits{}.uri_bytes_max, 'x');
  EXPECT_TRUE(has(text(post(session, subscribe_text(long_uri))), "-32602"));
}

// A turn sends some of the notices, and a client that takes none keeps nobody from theirs.
TEST_F(McpServer, SubscribersTakeTurns) {
  constexpr int threads = 40;
  server_.add({.templates = {{.uri = "test://threads/{id}",
                              .name = "thread",
                              .title = {},
                              .description = {},
                              .read = [](const CallContext&) {},
                              .subscribable = true}}});
  const auto uri = [](int n) { return "test://threads/t" + std::to_string(n); };
  std::vector<net::ConnectionId> streams;
  for (int n = 0; n < 20; ++n) {
    const Headers session = begin();
    for (int each = 0; each < threads; ++each) {
      post(session, subscribe_text(uri(each)));
    }
    streams.push_back(ask("GET", session, ""));
  }
  for (int each = 0; each < threads; ++each) {
    server_.updated(caller_.workspace, "ana", uri(each));
  }
  const auto told = [&] {
    size_t count = 0;
    for (const net::ConnectionId stream : streams) {
      for (size_t at = 0; (at = text(stream).find("resources/updated", at)) != std::string::npos;
           ++at) {
        ++count;
      }
    }
    return count;
  };
  EXPECT_EQ(server_.on_turn(clock_.now()), clock_.now()) << "more is to be sent";
  EXPECT_GE(told(), 200u);
  EXPECT_LE(told(), 300u);
  for (int turns = 0; turns < 10 && server_.on_turn(clock_.now()) == clock_.now(); ++turns) {
  }
  EXPECT_EQ(told(), size_t{threads} * streams.size());
}

class McpFewSubscriptions : public McpServer {
 public:
  McpFewSubscriptions() : McpServer({.subscriptions_max = 1}) {
    server_.add({.resources = {{.uri = "test://another",
                                .name = "another",
                                .title = {},
                                .description = {},
                                .read = [](const CallContext&) {},
                                .subscribable = true}}});
  }
};

TEST_F(McpFewSubscriptions, OneMoreIsRefused) {
  const Headers session = begin();
  post(session, subscribe_text(watched));
  EXPECT_TRUE(has(text(post(session, subscribe_text("test://another"))), "-31000"));
  EXPECT_TRUE(has(text(post(session, subscribe_text(watched))), R"("result":{})"));
  const auto both =
      post(modern("subscriptions/listen"),
           R"({"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{)"
           R"("resourceSubscriptions":["test://watched-resource","test://another"]},)" +
               meta() + "}}");
  EXPECT_EQ(answer(both).status, 429);
}

TEST_F(McpServer, TheOldTransportHasAllAnswersOnOneStream) {
  const auto stream = ask("GET", legacy_headers, "");
  EXPECT_TRUE(text(stream).starts_with("event: endpoint\ndata: /mcp?sessionId="));
  const std::string query = text(stream).substr(text(stream).find('?') + 1, 10 + 36);
  const auto post_old = [&](std::string_view body) {
    return answer(post({{"content-type", "application/json"}}, body, query)).status;
  };
  EXPECT_EQ(post_old(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{)"
                     R"("protocolVersion":"2024-11-05","capabilities":{}}})"),
            202);
  EXPECT_TRUE(has(text(stream), R"("protocolVersion":"2024-11-05")"));
  EXPECT_EQ(post_old(call("2", "test_simple_text")), 202);
  EXPECT_TRUE(has(text(stream), "This is a simple text response"));
  EXPECT_EQ(post_old(call("3", "wait")), 202);
  server_.on_closed(stream);
  EXPECT_EQ(cancelled_, 1);
  EXPECT_EQ(post_old(R"({"jsonrpc":"2.0","id":4,"method":"ping"})"), 404);
}

// The old transport's stream has the runs of its session: nothing else may take its place.
TEST_F(McpServer, TheOldTransportIsNotReachedByTheHeader) {
  const auto stream = ask("GET", legacy_headers, "");
  const std::string id = text(stream).substr(text(stream).find('=') + 1, 36);
  const std::string query = "sessionId=" + id;
  const Headers plain = {{"content-type", "application/json"}};
  EXPECT_EQ(answer(post(plain, call("5", "wait"), query)).status, 202);
  Headers by_header = legacy_headers;
  by_header["mcp-session-id"] = id;
  EXPECT_EQ(answer(ask("GET", by_header, "")).status, 404);
  EXPECT_EQ(answer(ask("GET", behind(by_header, "1-1"), "")).status, 404);
  EXPECT_EQ(answer(ask("DELETE", by_header, "")).status, 404);
  EXPECT_FALSE(wire_.closed.contains(stream));
  // Nor is a session of the newer one by the query.
  EXPECT_EQ(answer(post(plain, ping, "sessionId=" + begin().at("mcp-session-id"))).status, 404);
  waiting_.at(0).done(tool_text("done"));
  EXPECT_TRUE(has(text(stream), R"("id":5,"result")"));
  const auto cancelled = post(plain,
                              R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                              R"("params":{"requestId":5}})",
                              query);
  EXPECT_EQ(answer(cancelled).status, 202);
  EXPECT_EQ(cancelled_, 0);
}

// However a stream ends, what ran on it is over, and may be cancelled once more by its id.
TEST_F(McpServer, TheRunsOfAStreamEndWithIt) {
  const Headers session = begin();
  post(session, call("5", "wait"));
  pass(Limits{}.stream_after);
  server_.on_closed(connection_);
  pass(base::Duration{Limits{}.resume_within.us + base::seconds(2).us});
  EXPECT_EQ(cancelled_, 1);
  EXPECT_EQ(server_.streams(), 0u);
  waiting_.at(0).done(tool_text("too late"));
  post(session, R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  EXPECT_EQ(cancelled_, 1);
  // In a version whose first event has no id before there is one, nobody can come back.
  const Headers old = begin("2025-06-18");
  post(old, call("6", "wait"));
  pass(Limits{}.stream_after);
  server_.on_closed(connection_);
  EXPECT_EQ(cancelled_, 2);
  post(old, call("7", "wait"));
  EXPECT_EQ(answer(ask("DELETE", old, "")).status, 204);
  EXPECT_EQ(cancelled_, 3);
}

// Any steps in any order: sessions and streams of both transports, calls, hanging up and coming
// back, with ids that clients have seen or mix up. None ends the process, and nothing stays.
class McpAnyOrder : public McpServer {
 public:
  explicit McpAnyOrder(uint32_t seed)
      : McpServer({.sessions_per_principal_max = 4,
                   .sessions_max = 6,
                   .streams_per_principal_max = 5,
                   .streams_max = 12,
                   .runs_per_principal_max = 6}),
        random_(seed) {}

  void step() {
    const std::string id = std::to_string(pick(4));
    switch (pick(13)) {
      case 0:
        return note_session(begin(pick(2) == 0 ? "2025-11-25" : "2025-06-18")["mcp-session-id"]);
      case 1:
        return note_stream(ask("GET", legacy_headers, ""));
      case 2:
        return note_stream(ask("GET", session(), ""));
      case 3:
        return note_stream(ask("GET", behind(session(), events_[pick(events_.size())]), ""));
      case 4:
        return say(call(id, "wait"));
      case 5:
        return say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
                   id + "}}");
      case 6:
        return say(subscribe_text(watched, pick(2) == 0 ? "subscribe" : "unsubscribe"));
      case 7:
        modern_call("wait");
        return;
      case 8:
        return server_.on_closed(pick(connection_ + 1));
      case 9:
        ask("DELETE", session(), "");
        return;
      case 10:
        return waiting_.empty() ? void() : waiting_[pick(waiting_.size())].done(tool_text("done"));
      case 11:
        server_.updated(caller_.workspace, {}, watched);
        return pass(base::Duration{pick(20) == 0 ? base::hours(2).us : base::seconds(1).us});
      default:
        caller_.name = caller_.name == "ana" ? "bob" : "ana";
        caller_.ref = caller_.name == "ana" ? 1 : 2;
    }
  }
  // What is left once no token is good any more.
  void end() {
    wire_.gone = {"ana", "bob"};
    pass(base::hours(2));
    EXPECT_EQ(server_.streams(), 0u);
    EXPECT_EQ(server_.sessions(), 0u);
    EXPECT_EQ(server_.held_bytes(), 0u);
    EXPECT_FALSE(server_.has_subscribers());
    EXPECT_TRUE(std::ranges::all_of(waiting_, &mcp::CallHandle::is_over));
  }
  void TestBody() override {}

 private:
  size_t pick(size_t below) { return random_() % below; }
  void note_session(std::string id) { ids_.push_back(std::move(id)); }
  void note_stream(net::ConnectionId at) {
    const std::string& told = text(at);
    if (const size_t from = told.find("sessionId="); from != std::string::npos) {
      note_session(told.substr(from + 10, 36));
    }
    if (told.starts_with("id: ")) {
      events_.push_back(first_id(told));
    }
  }
  Headers session() {
    Headers headers = legacy_headers;
    headers["mcp-session-id"] = ids_[pick(ids_.size())];
    return headers;
  }
  void say(const std::string& body) {
    if (pick(2) == 0) {
      post(legacy_headers, body, "sessionId=" + ids_[pick(ids_.size())]);
    } else {
      const auto at = post(session(), body);
      pass(pick(2) == 0 ? Limits{}.stream_after : base::Duration{});
      note_stream(at);
    }
  }

  std::mt19937 random_;
  std::vector<std::string> ids_ = {"2f1a7a86-0b5e-4e3c-8d6e-000000000000"};
  std::vector<std::string> events_ = {"1-1", "s1-1"};
};

TEST(McpSteps, InAnyOrderLeaveNothing) {
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    McpAnyOrder steps(seed);
    for (int n = 0; n < 200; ++n) {
      steps.step();
    }
    steps.end();
  }
}

TEST(McpNotes, TheLastOfASessionCounts) {
  const std::string path = testing::TempDir() + "mcp_sessions_last_" + std::to_string(::getpid());
  std::filesystem::remove(path);
  const Principal ana{.name = "ana"};
  const base::Time now{1'000'000};
  const auto open = [&](base::Time at) { return std::move(*SavedSessions::open(path, at, {})); };
  {
    const auto saved_sessions = open(now);
    saved_sessions->keep("one", ana, {.level = "debug", .uris = {"a://b"}}, now);
    saved_sessions->keep("two", ana, {.is_ended = true}, now);
    saved_sessions->keep("three", ana, {.uris = {"c"}}, now);
    saved_sessions->keep("three", ana, {}, now);
    saved_sessions->keep("four", ana, {}, now);
  }
  std::ofstream(path, std::ios::app) << R"({"session":"cut of)";
  const auto saved_sessions = open(now);
  EXPECT_EQ(saved_sessions->size(), 2u);
  ASSERT_NE(saved_sessions->find("one"), nullptr);
  EXPECT_EQ(saved_sessions->find("one")->level, "debug");
  EXPECT_EQ(saved_sessions->find("one")->uris, std::vector<std::string>{"a://b"});
  ASSERT_NE(saved_sessions->find("two"), nullptr);
  EXPECT_TRUE(saved_sessions->find("two")->is_ended);
  EXPECT_EQ(saved_sessions->find("three"), nullptr);
  // An id of a session is in no file.
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_FALSE(has(text, "one"));
  EXPECT_EQ(open(now + base::hours(31 * 24))->size(), 0u);
  std::filesystem::remove(path);
}

TEST(McpNotes, AFileThatCannotBeWrittenIsATroubleOfTheStorage) {
  const std::string path =
      testing::TempDir() + "mcp_sessions_nowhere_" + std::to_string(::getpid()) + "/sessions";
  const auto saved_sessions = SavedSessions::open(path, {}, {});
  ASSERT_FALSE(saved_sessions);
  EXPECT_EQ(saved_sessions.error().code, base::Code::storage_failed);
  EXPECT_TRUE(has(saved_sessions.error().detail, "cannot write " + path))
      << saved_sessions.error().detail;
}

TEST(McpNotes, AreBoundedForEachPrincipalAndInAll) {
  const std::string path = testing::TempDir() + "mcp_sessions_bound_" + std::to_string(::getpid());
  std::filesystem::remove(path);
  const auto saved_sessions = std::move(
      *SavedSessions::open(path, {}, {.bytes_per_principal_max = 2'000, .bytes_max = 5'000}));
  const auto keep = [&](std::string_view owner, int n) {
    saved_sessions->keep(std::string(owner) + std::to_string(n), {.name = std::string(owner)},
                         {.is_ended = true}, {});
  };
  keep("bob", 0);
  for (int n = 0; n < 20'000; ++n) {
    keep("ana", n);
  }
  EXPECT_EQ(saved_sessions->find("ana0"), nullptr);
  EXPECT_NE(saved_sessions->find("ana19999"), nullptr);
  EXPECT_NE(saved_sessions->find("bob0"), nullptr);
  EXPECT_LE(saved_sessions->size(), 40u);
  saved_sessions->settle();
  EXPECT_LE(std::filesystem::file_size(path), 2u << 20);
  for (int n = 0; n < 100; ++n) {
    keep("c" + std::to_string(n), n);
  }
  EXPECT_EQ(saved_sessions->find("bob0"), nullptr);
  EXPECT_LE(saved_sessions->size(), 100u);
  std::filesystem::remove(path);
}

// Whoever keeps a note does not wait until 16 MiB are written: another thread writes them.
TEST(McpNotes, AreTheSameAfterTheFileWasWrittenAnew) {
  const std::string path = testing::TempDir() + "mcp_sessions_anew_" + std::to_string(::getpid());
  std::filesystem::remove(path);
  const auto name = [](int n) { return "session " + std::to_string(n); };
  const std::string long_uri = "a://" + std::string(1'000, 'a');
  const auto note = [&](int n) { return SavedSession{.uris = {long_uri, name(n)}}; };
  const auto open = [&] {
    return std::move(*SavedSessions::open(path, {}, {.life = base::hours(1)}));
  };
  constexpr int rounds = 20'000;
  constexpr int sessions = 300;
  {
    const auto saved_sessions = open();
    for (int n = 0; n < rounds; ++n) {
      saved_sessions->keep(name(n % sessions), {.name = "ana"}, note(n), {});
      if (n % 1'000 == 999) {
        saved_sessions->settle();
      }
    }
    EXPECT_LE(std::filesystem::file_size(path), size_t{3} << 20) << "of more than 20 MB";
    saved_sessions->keep(name(1), {.name = "ana"}, {.is_ended = true}, {});
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  const auto saved_sessions = open();
  EXPECT_EQ(saved_sessions->size(), size_t{sessions});
  EXPECT_TRUE(saved_sessions->find(name(1))->is_ended);
  for (int n = rounds - sessions; n < rounds; ++n) {
    if (n % sessions != 1) {
      ASSERT_NE(saved_sessions->find(name(n % sessions)), nullptr) << n;
      EXPECT_EQ(saved_sessions->find(name(n % sessions))->uris.back(), name(n)) << n;
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace parley::edge::mcp
