// SPDX-License-Identifier: Apache-2.0
// Apart from time.cc, so that only programs that need a real clock link one.
#include <chrono>
#include <ctime>

#include "base/clock/paced_clock.h"
#include "base/time.h"

namespace parley::base {

Time SystemClock::now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Time{std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()};
}

Time BootClock::now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Time{int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000};
}

}  // namespace parley::base
