// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <thread>

#include "app/bench/stats.h"
#include "app/client/client.h"

namespace parley::app {

// Nanoseconds of a clock that nobody sets.
inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What the machine could do at best. The measures of a benchmark are worth nothing without: disks
// and machines differ by far more than brokers do.

// Appends batches of records to a new file of `directory` and syncs each: no more than what every
// durable log must do.
std::expected<void, Failure> measure_log(const std::string& directory, uint32_t batch,
                                         uint32_t bytes, double seconds, Measured& measured);

// A thread that sends back what comes, and a caller that waits for it: one in flight, over
// loopback.
class BareEcho {
 public:
  BareEcho() = default;
  ~BareEcho();
  BareEcho(const BareEcho&) = delete;
  BareEcho& operator=(const BareEcho&) = delete;

  std::expected<void, Failure> start();
  std::expected<void, Failure> measure(uint32_t bytes, double seconds, Measured& measured);

 private:
  int caller_ = -1;
  std::thread thread_;
};

}  // namespace parley::app
