// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/socket_server.h"

namespace parley::app {

// A server that answers as it was told and remembers what it was asked.
class ScriptedBroker final : private net::Handler {
 public:
  struct Asked {
    std::string method;
    std::string target;  // with the query
    std::string body;
    std::string authorization;
    std::string dialect;
    std::string key;
  };

  ScriptedBroker() {
    auto server = net::SocketServer::listen({}, *this);
    if (server) {
      server_ = std::move(*server);
      thread_ = std::thread([this] { server_->run(); });
    }
  }
  ~ScriptedBroker() override {
    if (server_) {
      server_->stop();
      thread_.join();
    }
  }
  ScriptedBroker(const ScriptedBroker&) = delete;
  ScriptedBroker& operator=(const ScriptedBroker&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

  // The next answer to `METHOD /path`, without the query; the last one stays. Else 404.
  void answer(const std::string& what, int status, const std::string& body) {
    const std::lock_guard lock(mutex_);
    answers_[what].push_back({.status = status, .body = body});
  }
  // Everything that has no answer of its own gets this one.
  void answer_all(int status, const std::string& body) { answer("", status, body); }

  std::vector<Asked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  net::CallerId on_head(const net::Request& /*head*/) override { return 1; }
  void on_request(const net::Exchange& exchange, const net::Request& request) override {
    net::Response response{.status = 404, .body = R"({"code":"NOT_FOUND","detail":"no script"})"};
    {
      const std::lock_guard lock(mutex_);
      const std::string what = std::string(request.method) + " " + std::string(request.path);
      asked_.push_back({std::string(request.method),
                        std::string(request.path) +
                            (request.query.empty() ? "" : "?" + std::string(request.query)),
                        std::string(request.body), std::string(request.header("authorization")),
                        std::string(request.header("parley-dialect")),
                        std::string(request.header("idempotency-key"))});
      auto found = answers_.find(what);
      found = found == answers_.end() ? answers_.find("") : found;
      if (found != answers_.end()) {
        response = found->second.front();
        if (found->second.size() > 1) {
          found->second.pop_front();
        }
      }
    }
    server_->respond(exchange, std::move(response));
  }
  void on_message(net::ConnectionId, std::string_view) override {}
  void on_closed(net::ConnectionId) override {}
  void on_drained(net::ConnectionId) override {}
  base::Time on_turn() override { return base::time_max; }

  mutable std::mutex mutex_;
  std::map<std::string, std::deque<net::Response>> answers_;
  std::vector<Asked> asked_;
  std::unique_ptr<net::SocketServer> server_;
  std::thread thread_;
};

// A place of its own in the file system, and an environment without ours.
class Surroundings {
 public:
  Surroundings();
  ~Surroundings();
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  const std::string& data() const { return data_; }
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string data_;
};

// What a run of the program printed, and how it ended.
struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};
Ran run_captured(std::vector<std::string> arguments);

}  // namespace parley::app
