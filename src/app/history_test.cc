// SPDX-License-Identifier: Apache-2.0
// A history that cannot keep up, over the real interface.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <thread>

#include "edge/api/api.h"
#include "journal/file/file.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/sqlite.h"
#include "net/client/client.h"
#include "net/socket_server.h"
#include "view/runner.h"

namespace parley::app {
namespace {

// A broker in this process whose view reads the journal from a place that need not be there yet.
class LateHistory : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    auto journal = journal::FileJournal::open({.directory = directory_ + "/journal"}, clock_);
    ASSERT_TRUE(journal);
    journal_ = std::move(*journal);
    view::Runner::Options options;
    options.path = directory_ + "/history.db";
    options.directory = directory_ + "/late";
    options.feed.backlog.bytes_max = 2'000;
    options.post = [this](std::function<void()> work) { server_->post(std::move(work)); };
    auto view = view::Runner::start(std::move(options));
    ASSERT_TRUE(view);
    view_ = std::move(*view);
    view::Feed& feed = view_->feed();
    auto broker = node::Broker::start(
        *journal_, {.tell_after = feed.position(), .view_full = [&feed] { return feed.full(); }});
    ASSERT_TRUE(broker);
    broker_ = std::move(*broker);
    broker_->observe(
        [this](const auto&... told) { view_->feed().push(broker_->machine(), told...); });
    broker_->ask(core::workspace_first, core::broker_name,
                 core::Register{.name = "ana", .token = lib::sha256("ana's token")},
                 [](const core::Outcome& outcome, auto) { EXPECT_TRUE(outcome); });
    const auto& agents = broker_->machine().find(core::workspace_first)->tables().agents;
    while (agents.find("ana") == core::none) {
      ASSERT_TRUE(broker_->step(clock_.now()));
    }
    api_ = std::make_unique<edge::Api>(*broker_, clock_, edge::Api::Options{.view = view_.get()});
    auto server = net::SocketServer::listen({}, *api_);
    ASSERT_TRUE(server);
    server_ = std::move(*server);
    api_->attach(*server_);
    thread_ = std::thread([this] { server_->run(); });
  }
  void TearDown() override {
    server_->stop();
    thread_.join();
    view_.reset();
    std::filesystem::remove_all(directory_);
  }

  net::ClientResponse call(std::string_view method, std::string_view path,
                           std::string_view body = {}) {
    net::Client client("http://127.0.0.1:" + std::to_string(server_->port()), "ana's token");
    auto response = client.request(method, path, body);
    EXPECT_TRUE(response) << response.error().detail;
    return response.value_or(net::ClientResponse{});
  }
  net::ClientResponse send() {
    return call("POST", "/v1/messages?lenient=true",
                R"({"type":"notification","receiver":"ana",)"
                R"("payload":{"content_type":"text","body":"hello"}})");
  }
  // Each read waits for the view; on a busy machine that may take several.
  net::ClientResponse outbox_at_last() {
    net::ClientResponse response = call("GET", "/v1/outbox");
    for (int n = 0; n < 30 && response.status == 503; ++n) {
      response = call("GET", "/v1/outbox");
    }
    return response;
  }
  void let_the_view_go_on() {
    std::filesystem::create_directory_symlink(directory_ + "/journal", directory_ + "/late");
  }

  std::string directory_ = ::testing::TempDir() + "parley-late-XXXXXX";
  base::SystemClock clock_;
  std::unique_ptr<journal::FileJournal> journal_;
  std::unique_ptr<net::SocketServer> server_;
  std::unique_ptr<view::Runner> view_;
  std::unique_ptr<node::Broker> broker_;
  std::unique_ptr<edge::Api> api_;
  std::thread thread_;
};

TEST_F(LateHistory, ReadsWaitForWhatTheCallerDidAndSayHowFarItIsBehind) {
  ASSERT_EQ(send().status, 202);
  const auto late = call("GET", "/v1/outbox");
  EXPECT_EQ(late.status, 503);
  lib::JsonDocument document;
  const auto problem = document.parse(late.body);
  ASSERT_TRUE(problem) << late.body;
  EXPECT_EQ(problem->find("code").as_string(), "VIEW_BEHIND");
  EXPECT_GT(problem->find("behind").as_uint64().value_or(0), 0u);
  EXPECT_NE(problem->find("detail").as_string()->find("entries behind"), std::string_view::npos);
  let_the_view_go_on();
  const auto there = outbox_at_last();
  EXPECT_EQ(there.status, 200) << there.body;
  EXPECT_NE(there.body.find("\"count\":1"), std::string::npos) << there.body;
}

TEST_F(LateHistory, SendsAreRefusedWhileItHasTooMuchToCatchUpWith) {
  net::ClientResponse sent = send();
  for (int n = 0; n < 100 && sent.status == 202; ++n) {
    sent = send();
  }
  EXPECT_EQ(sent.status, 503);
  EXPECT_NE(sent.body.find("OVERLOADED"), std::string::npos) << sent.body;
  EXPECT_EQ(call("GET", "/v1/inbox").status, 200);
  let_the_view_go_on();
  EXPECT_EQ(outbox_at_last().status, 200);
  EXPECT_EQ(send().status, 202);
}

TEST_F(LateHistory, AMessageThatThisVersionCannotReadIsLeftOutOfAList) {
  let_the_view_go_on();
  ASSERT_EQ(send().status, 202);
  ASSERT_EQ(send().status, 202);
  ASSERT_EQ(outbox_at_last().status, 200);
  {
    auto history = lib::Database::open(directory_ + "/history.db", lib::Database::Mode::read_write);
    ASSERT_TRUE(history);
    ASSERT_TRUE(
        history->run("UPDATE messages SET record = x'00'"
                     " WHERE seq = (SELECT min(seq) FROM messages)"));
  }
  const auto outbox = outbox_at_last();
  EXPECT_EQ(outbox.status, 200) << outbox.body;
  lib::JsonDocument document;
  const auto listed = document.parse(outbox.body);
  ASSERT_TRUE(listed) << outbox.body;
  size_t messages = 0;
  for (const lib::Json message : listed->find("messages").elements()) {
    EXPECT_EQ(message.find("from").as_string(), "ana") << outbox.body;
    ++messages;
  }
  EXPECT_EQ(messages, 1u) << outbox.body;
}

}  // namespace
}  // namespace parley::app
