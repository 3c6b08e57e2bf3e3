// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.h"

namespace parley::view {

// Who waits until the view has reached a place, and no longer than until a deadline. Tells nobody
// itself: it hands out who is to be told, because that must not happen under a lock. Part of Feed,
// whose lock guards it.
class Waiters {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Whether the view got there in time; and how many entries it is behind.
  struct Reached {
    bool there = false;
    base::Seq position;
    uint64_t behind = 0;  // entries from there to the newest
  };
  using Tell = std::function<void(const Reached&)>;

  struct Waiter {
    base::Seq seq;
    TimePoint deadline;
    Tell tell;
  };

  void add(Waiter waiter);
  bool empty() const { return waiters_.empty(); }
  size_t size() const { return waiters_.size(); }

  // Takes out those whose place is reached or whose deadline has come.
  std::vector<Waiter> take_ready(base::Seq position, TimePoint now);
  std::vector<Waiter> take_all();

  // The first deadline; TimePoint::max() when nobody waits.
  TimePoint next_deadline() const;

 private:
  std::vector<Waiter> waiters_;
};

}  // namespace parley::view
