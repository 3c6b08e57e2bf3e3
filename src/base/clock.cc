// SPDX-License-Identifier: Apache-2.0
// Apart from time.cc, so that only programs that need a real clock link one.
#include <chrono>

#include "base/time.h"

namespace parley::base {

Time SystemClock::now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Time{std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()};
}

}  // namespace parley::base
