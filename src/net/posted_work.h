// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace parley::net {

// Work that other threads hand to the server's thread.
class PostedWork {
 public:
  // From any thread.
  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }

  // On the server's thread: runs what was posted, in order. Without the lock, for the work may post
  // again: that is for the next time.
  void run() {
    std::vector<std::function<void()>> work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(posted_);
    }
    for (const auto& each : work) {
      each();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // under mutex_
};

}  // namespace parley::net
