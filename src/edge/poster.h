// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "net/client.h"

namespace parley::edge {

// What a webhook may reach. Without being allowed: https to addresses of the whole Internet. A
// network that is allowed: https too; http only on loopback.
struct Reach {
  std::vector<net::Network> allowed;

  bool admits(const net::IpAddress& address, bool is_tls) const;
  // What is wrong with a URL, as far as can be seen without asking for its address; the rest is
  // seen when it is connected to.
  std::expected<void, base::Error> check(std::string_view url) const;
};

// Brings requests to where they go, on threads of its own, a few at a time. Follows no redirect and
// reads little of an answer.
class Poster {
 public:
  struct Options {
    Reach reach;
    std::string trusted_file;  // PEM; empty: what the system trusts
    base::Duration timeout = base::seconds(10);
    size_t queue_max = 10'000;
    size_t threads = 4;  // so that one who is slow holds up few others
  };
  struct Request {
    std::string url;
    net::Headers headers;
    std::string body;
  };
  struct Result {
    int status = 0;     // 0: there was no answer
    std::string error;  // what was wrong; empty: nothing
    std::optional<base::Duration> retry_after;
  };
  using Done = std::function<void(Result)>;

  explicit Poster(Options options);
  ~Poster();  // what waits is left; what is under way ends
  Poster(const Poster&) = delete;
  Poster& operator=(const Poster&) = delete;

  // `done` is called on a thread of the poster's. False when too many wait.
  bool post(Request request, Done done);

 private:
  struct Job {
    Request request;
    Done done;
  };
  void run();
  Result bring(const Request& request) const;

  const Options options_;
  const int stop_;  // can be read from the end on
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace parley::edge
