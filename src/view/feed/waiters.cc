// SPDX-License-Identifier: Apache-2.0
#include "view/feed/waiters.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace parley::view {

void Waiters::add(Waiter waiter) { waiters_.push_back(std::move(waiter)); }

std::vector<Waiters::Waiter> Waiters::take_ready(base::Seq position, TimePoint now) {
  const auto waits = [&](const Waiter& waiter) {
    return position < waiter.seq && now < waiter.deadline;
  };
  const auto ready = std::ranges::partition(waiters_, waits);
  std::vector<Waiter> taken(std::move_iterator(ready.begin()), std::move_iterator(ready.end()));
  waiters_.erase(ready.begin(), ready.end());
  return taken;
}

std::vector<Waiters::Waiter> Waiters::take_all() { return std::exchange(waiters_, {}); }

Waiters::TimePoint Waiters::next_deadline() const {
  TimePoint next = TimePoint::max();
  for (const Waiter& waiter : waiters_) {
    next = std::min(next, waiter.deadline);
  }
  return next;
}

}  // namespace parley::view
