// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
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

  // On the server's thread: runs what was posted, in order. Once `is_over` says so the rest is left
  // to the next time, and so is what the work posts itself.
  template <class IsOver>
  void run(const IsOver& is_over) {
    {
      const std::lock_guard lock(mutex_);
      std::ranges::move(posted_, std::back_inserter(taken_));
      posted_.clear();
    }
    for (size_t left = taken_.size(); left > 0; --left) {
      const std::function<void()> work = std::move(taken_.front());
      taken_.pop_front();
      work();  // without the lock, for it may post again
      if (is_over()) {
        break;
      }
    }
  }
  // On the server's thread: whether some is left.
  bool has_left() const { return !taken_.empty(); }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // under mutex_
  std::deque<std::function<void()>> taken_;    // to be run; the server's thread's
};

}  // namespace parley::net
