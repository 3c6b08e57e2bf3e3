// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "edge/api/api.h"
#include "journal/file/file.h"
#include "lib/crypto.h"
#include "net/client/client.h"
#include "net/socket_server.h"
#include "view/runner.h"

namespace parley::app {

// A whole broker in this process, over the real interface. `ana` speaks flow, `ivy` inbox and `cem`
// collab; `human:kim` is a maintainer. The token of each is its name.
class LiveBroker : public ::testing::Test {
 protected:
  struct Options {
    std::string journal;  // where the view reads it
    size_t feed_bytes_max = size_t{1} << 20;
    edge::events::Options events{};
  };

  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void start(const Options& wanted) {
    auto journal = journal::FileJournal::open({.directory = directory_ + "/journal"}, clock_);
    ASSERT_TRUE(journal);
    journal_ = std::move(*journal);
    view::Runner::Options options;
    options.path = directory_ + "/history.db";
    options.directory = wanted.journal;
    options.feed.backlog.bytes_max = wanted.feed_bytes_max;
    options.post = [this](std::function<void()> work) { server_->post(std::move(work)); };
    auto view = view::Runner::start(std::move(options));
    ASSERT_TRUE(view);
    view_ = std::move(*view);
    view::Feed& feed = view_->feed();
    auto broker = node::Broker::start(
        *journal_, {.tell_after = feed.position(),
                    .view_full = [&feed](core::WorkspaceId workspace, std::string_view actor) {
                      return feed.full_for(workspace, actor);
                    }});
    ASSERT_TRUE(broker);
    broker_ = std::move(*broker);
    broker_->observe(
        [this](const auto&... told) { view_->feed().push(broker_->machine(), told...); });
    add({.name = "ana"});
    add({.name = "ivy", .dialect = core::Dialect::inbox, .role = "specialist"});
    add({.name = "cem", .dialect = core::Dialect::collab, .role = "worker"});
    add({.name = "human:kim", .kind = core::PrincipalKind::human, .rights = {"maintainer"}});
    edge::Api::Options api;
    api.view = view_.get();
    api.events = wanted.events;
    api_ = std::make_unique<edge::Api>(*broker_, clock_, std::move(api));
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

  net::ClientResponse call_as(std::string_view name, std::string_view method, std::string_view path,
                              std::string_view body = {}) {
    net::Client client("http://127.0.0.1:" + std::to_string(server_->port()), std::string(name));
    auto response = client.request(method, path, body);
    EXPECT_TRUE(response) << response.error().detail;
    return response.value_or(net::ClientResponse{});
  }
  // Without a token.
  net::ClientResponse call(std::string_view method, std::string_view path, std::string_view body,
                           const net::Headers& headers) {
    net::Client client("http://127.0.0.1:" + std::to_string(server_->port()), "");
    auto response = client.request(method, path, body, headers);
    EXPECT_TRUE(response) << response.error().detail;
    return response.value_or(net::ClientResponse{});
  }
  const std::string& directory() const { return directory_; }

 private:
  void add(core::Register command) {
    command.token = lib::sha256(command.name);
    const std::string name(command.name);
    broker_->ask(core::workspace_first, core::broker_name, std::move(command),
                 [](const core::Outcome& outcome, auto) { EXPECT_TRUE(outcome); });
    const auto& agents = broker_->machine().find(core::workspace_first)->tables().agents;
    while (agents.find(name) == core::none) {
      ASSERT_TRUE(broker_->step(clock_.now()));
    }
  }

  std::string directory_ = ::testing::TempDir() + "parley-live-XXXXXX";
  base::SystemClock clock_;
  std::unique_ptr<journal::FileJournal> journal_;
  std::unique_ptr<net::SocketServer> server_;
  std::unique_ptr<view::Runner> view_;
  std::unique_ptr<node::Broker> broker_;
  std::unique_ptr<edge::Api> api_;
  std::thread thread_;
};

}  // namespace parley::app
