// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "app/client/client.h"

namespace parley::app {

// The rules that would stop agents that send all they can; 0 switches each off.
constexpr std::array<std::string_view, 10> bench_limits = {
    "flow.rate.agent_in_per_min", "flow.rate.agent_out_per_min", "flow.rate.broadcast_per_min",
    "flow.rate.pair_per_min",     "flow.rate.topic_per_min",     "guard.bytes_per_day",
    "guard.bytes_per_min",        "guard.fan_out_per_min",       "guard.messages_per_day",
    "guard.ping_pong_max"};

// A broker of our own, in a process and a new directory of its own. Stops it and removes all that
// it wrote when it goes; it stops by itself when we are killed.
class PrivateBroker {
 public:
  PrivateBroker() = default;
  ~PrivateBroker();
  PrivateBroker(const PrivateBroker&) = delete;
  PrivateBroker& operator=(const PrivateBroker&) = delete;

  // Makes a directory within `parent` and starts the broker; returns when it takes requests. Before
  // any thread is started.
  std::expected<void, Failure> start(const std::string& parent);

  bool is_running() const { return pid_ > 0; }
  const BrokerAddress& address() const { return address_; }
  const std::string& directory() const { return directory_; }
  // Memory that it takes now; 0 when that cannot be found out.
  int64_t rss_bytes() const;
  // Time that processors have worked for it so far; 0 when that cannot be found out.
  int64_t cpu_ns() const;

 private:
  std::expected<void, Failure> run();

  std::string directory_;
  pid_t pid_ = -1;
  BrokerAddress address_;
};

}  // namespace parley::app
