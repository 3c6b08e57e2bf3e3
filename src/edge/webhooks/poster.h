// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "edge/webhooks/limits.h"
#include "net/client/client.h"

namespace parley::edge {

// What a webhook may reach. By default: https to public addresses. In a network that is allowed:
// https, and http if it is loopback.
struct Reach {
  std::vector<net::Network> allowed;

  bool admits(const net::IpAddress& address, bool is_tls) const;
  // What is wrong with a URL, as far as can be seen without asking for its address; the rest is
  // seen when it is connected to.
  std::expected<void, base::Error> check(std::string_view url) const;
};

// Scheme, host and port of a URL, as they stand there.
std::string_view origin_of(std::string_view url);

// Sends requests on threads of its own. A slow receiver holds up nobody else: few requests at a
// time go to one origin, the origins take turns, and requests that failed before have no more than
// half of the threads. Follows no redirect and reads little of an answer.
class Poster {
 public:
  struct Options {
    Reach reach;
    std::string trusted_file;  // PEM; empty: what the system trusts
    base::Duration timeout = WebhookLimits{}.timeout;
    size_t queue_max = 10'000;
    size_t threads = 32;
    size_t per_origin = 4;
  };
  struct Request {
    std::string url;
    // Made when it is sent, on a thread of the poster's: a proof says when that was.
    std::function<net::Headers()> headers;
    std::string body;
    bool failed_before = false;
  };
  struct Result {
    int status = 0;      // 0: there was no answer
    std::string error;   // what was wrong, for whoever set the URL; empty: nothing
    std::string detail;  // the same for an admin: what is told of addresses is not for others
    std::optional<base::Duration> retry_after;
  };
  using Done = std::function<void(Result)>;

  explicit Poster(Options options);
  // Drops the requests that wait, and ends those that are under way.
  ~Poster();
  Poster(const Poster&) = delete;
  Poster& operator=(const Poster&) = delete;

  // `done` is called on a thread of the poster's. False when too many wait.
  bool post(Request request, Done done);

 private:
  struct Job {
    Request request;
    Done done;
  };
  // The requests to one origin, in order.
  struct OriginQueue {
    std::deque<Job> jobs;
    size_t busy = 0;        // requests that are under way
    bool is_ready = false;  // is in `ready_` or `ready_retries_`
  };
  using OriginQueues = std::map<std::string, OriginQueue, std::less<>>;

  void run();
  std::deque<OriginQueues::iterator>* next_ready();
  void make_ready(OriginQueues::iterator origin);
  void wake_thread();
  Result send(const Request& request) const;

  const Options options_;
  const int stop_;  // an eventfd; readable once the poster ends, which interrupts the requests
  std::mutex mutex_;
  std::condition_variable changed_;
  OriginQueues origins_;
  std::deque<OriginQueues::iterator> ready_;          // origins whose next request may begin
  std::deque<OriginQueues::iterator> ready_retries_;  // the same, where that request failed before
  size_t waiting_ = 0;                                // requests
  size_t idle_ = 0;                                   // threads
  size_t retries_busy_ = 0;  // threads that send a request which failed before
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace parley::edge
