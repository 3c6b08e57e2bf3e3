// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "app/client/client.h"
#include "app/run/broker_connection.h"
#include "base/time.h"

namespace parley::app {

// Keeps two leases at the broker while a process works for an agent: the lock that says that no
// other process works for it, and the lease on the message in hand. A thread renews both, and waits
// for a broker that restarts. The other functions may be called from any thread.
class LeaseKeeper {
 public:
  static constexpr base::Duration lock_lease = base::seconds(30);
  static constexpr base::Duration message_lease = base::seconds(60);
  static std::string lock_of(const std::string& agent) { return "!run:" + agent; }

  // The caller has taken the lock; `fence` is what the broker answered.
  LeaseKeeper(const ClientOptions& options, std::string agent, uint64_t fence);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Renews the lease on the message, which has just begun, until `drop`.
  void hold(const std::string& message, base::Duration lease);
  void drop();

  // The fence under which the lock is held now: it changes when the lock had to be taken again.
  uint64_t fence() const { return fence_.load(); }
  // A descriptor that can be read once another process has the lock.
  int lost() const { return lost_; }
  bool is_lost() const { return is_lost_.load(); }
  // The lock was not renewed in time, and it is not known yet whether another process has it.
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
  BrokerConnection connection_;  // used by the thread alone

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string message_;
  base::Duration lease_{};
  Clock::time_point extend_due_{};
  bool stopping_ = false;
  std::thread thread_;
};

// The body of a request for the lock: to renew it under its fence, or with 0 to take it anew.
std::string lock_request(uint64_t fence);
// The body of a request for a longer lease on a message.
std::string lease_request(base::Duration lease);
// The whole number that an answer has under this key; 0 when it has none.
uint64_t number_in(const std::string& json, std::string_view key);

}  // namespace parley::app
