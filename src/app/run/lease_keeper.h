// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/client.h"
#include "net/client/client.h"

namespace parley::app {

// A connection to a broker that may restart meanwhile: looks for it anew when it was lost. Not
// thread-safe.
class Line {
 public:
  // `stop`: as soon as it can be read, a call ends without an answer.
  Line(ClientOptions options, int stop) : options_(std::move(options)), stop_(stop) {}

  struct Answer {
    int status = 0;  // 0: there was none
    std::string body;
    Failure failure;  // what was wrong, unless it is good

    bool is_good() const { return status >= 200 && status < 300; }
    // Worth another try: the broker is away, or has too much to do.
    bool is_passing() const { return status == 0 || status >= 500 || status == 429; }
  };
  Answer call(const Call& call);

  // Where the newest call went.
  const BrokerAddress& target() const { return target_; }

 private:
  ClientOptions options_;
  int stop_;
  BrokerAddress target_;
  std::optional<net::Client> client_;
};

// That one process works for an agent and no other: a lock of the broker's, renewed by a thread of
// its own, as is the lease on the message in hand. A broker that restarts is waited for.
class Duty {
 public:
  static constexpr base::Duration lock_lease = base::seconds(30);
  static constexpr base::Duration message_lease = base::seconds(60);
  static std::string lock_of(const std::string& agent) { return "!run:" + agent; }

  // The lock was got with this fence.
  Duty(const ClientOptions& options, std::string agent, uint64_t fence);
  ~Duty();
  Duty(const Duty&) = delete;
  Duty& operator=(const Duty&) = delete;

  // Keeps the lease on the message, which has just begun, until `drop`.
  void hold(const std::string& message, base::Duration lease);
  void drop();

  // By which request the lock is held now.
  uint64_t fence() const { return fence_.load(); }
  // Can be read once another has the lock.
  int lost() const { return lost_; }
  bool is_lost() const { return is_lost_.load(); }
  // It was not renewed in time, and it is not known yet whether another has it.
  bool is_doubtful() const { return !is_lost() && now_us() >= held_until_us_.load(); }

 private:
  using Clock = std::chrono::steady_clock;

  static int64_t now_us();
  void run();
  Clock::time_point renew();
  Clock::time_point extend(const std::string& message, base::Duration lease);
  void lose();

  const std::string agent_;
  const int stop_;
  const int lost_;
  std::atomic<uint64_t> fence_;
  std::atomic<bool> is_lost_ = false;
  std::atomic<int64_t> held_until_us_;
  Line line_;  // the thread's

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string message_;
  base::Duration lease_{};
  Clock::time_point extend_due_{};
  bool stopping_ = false;
  std::thread thread_;
};

// The body of a request for the lock; fence 0 takes it anew.
std::string lock_request(uint64_t fence);
// The body of a request for a longer lease on a message.
std::string lease_request(base::Duration lease);
// A whole number that the answer has; 0 when it has none.
uint64_t number_in(const std::string& json, std::string_view key);

}  // namespace parley::app
