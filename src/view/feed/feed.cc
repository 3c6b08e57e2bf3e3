// SPDX-License-Identifier: Apache-2.0
#include "view/feed/feed.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace parley::view {

Feed::Feed(const Options& options, Post post, Seq position)
    : options_(options),
      post_(std::move(post)),
      position_(position.n),
      applied_(position.n),
      backlog_(options.backlog),
      pacing_(options.pacing) {}

void Feed::push(const core::Machine& machine, const core::Entry& entry,
                const core::Outcome& outcome, std::span<const core::Effect> effects) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (entry.seq.n <= applied_.load(std::memory_order_relaxed) || given_up_) {
      return;  // folded in already, or never
    }
    backlog_.add(machine, entry, outcome, effects);
    pacing_.count_entry();
    applied_.store(entry.seq.n, std::memory_order_release);
    // Waking costs the node a system call, so it is done only when the view sleeps with nothing to
    // do, or rests in a burst that has become too much for that.
    const bool presses = backlog_.is_half_full();
    wake = sleeping_ || (presses && !presses_.load(std::memory_order_relaxed));
    presses_.store(presses, std::memory_order_relaxed);
    sleeping_ = false;
  }
  if (wake) {
    changed_.notify_one();
  }
}

Feed::Lag Feed::lag() {
  const std::lock_guard lock(mutex_);
  const uint64_t position = position_.load(std::memory_order_acquire);
  const uint64_t applied = applied_.load(std::memory_order_acquire);
  return {applied > position ? applied - position : 0, backlog_.record_bytes(),
          backlog_.growth_bytes()};
}

bool Feed::full_for(WorkspaceId workspace, std::string_view actor) {
  if (!presses_.load(std::memory_order_relaxed)) {
    return false;  // nobody holds more than is left
  }
  const std::lock_guard lock(mutex_);
  return !given_up_ && backlog_.is_full_for(workspace, actor);
}

void Feed::wait_for(Seq seq, TimePoint deadline, Tell tell) {
  {
    const std::lock_guard lock(mutex_);
    if (position() < seq && waiters_.size() < options_.waiters_max && !stop_ && !given_up_) {
      waiters_.add({seq, deadline, std::move(tell)});
      tell = nullptr;
    }
  }
  if (!tell) {
    // The view may rest: it works at once for who waits, and must learn of the deadline.
    changed_.notify_one();
    return;
  }
  post_([tell = std::move(tell), reached = reached(seq)] { tell(reached); });
}

Feed::Reached Feed::reached(Seq seq) {
  const Seq at = position();
  return {at >= seq, at, lag().entries};
}

bool Feed::is_due(TimePoint now) {
  if (backlog_.entries() == 0) {
    pacing_.rest();
    return false;
  }
  // Asked first and always: it measures the rate as well.
  const bool has_waited = pacing_.is_due(now);
  return has_waited || !waiters_.empty() || backlog_.is_half_full();
}

Feed::TimePoint Feed::next_wake(TimePoint idle_at) const {
  const TimePoint next = backlog_.entries() > 0 ? std::min(idle_at, pacing_.next_look()) : idle_at;
  return std::min(next, waiters_.next_deadline());
}

Feed::Woken Feed::take(Part& part, TimePoint idle_at) {
  Lock lock(mutex_);
  while (true) {
    const Woken woken = look_for_work(lock, part, idle_at);
    if (woken != Woken::early) {
      return woken;
    }
    const TimePoint next = next_wake(idle_at);
    sleeping_ = backlog_.entries() == 0;
    if (next == TimePoint::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, next);
    }
    sleeping_ = false;
  }
}

Feed::Woken Feed::poll(Part& part, TimePoint idle_at) {
  Lock lock(mutex_);
  return look_for_work(lock, part, idle_at);
}

Feed::Woken Feed::look_for_work(Lock& lock, Part& part, TimePoint idle_at) {
  const TimePoint at = now();
  tell_waiters(lock, at);
  if (stop_) {
    return Woken::stopped;
  }
  if (is_due(at)) {
    backlog_.take(part);
    return Woken::facts;
  }
  return at >= idle_at ? Woken::idle : Woken::early;
}

bool Feed::stopped(TimePoint deadline) {
  Lock lock(mutex_);
  while (!stop_) {
    const TimePoint at = now();
    tell_waiters(lock, at);
    if (at >= deadline) {
      return false;
    }
    changed_.wait_until(lock, std::min(deadline, waiters_.next_deadline()));
  }
  return true;
}

// Tells those who are served or late. The lock is not held meanwhile: posting may take another.
void Feed::tell_waiters(Lock& lock, TimePoint now) {
  std::vector<Waiters::Waiter> ready =
      stop_ || given_up_ ? waiters_.take_all() : waiters_.take_ready(position(), now);
  if (ready.empty()) {
    return;
  }
  lock.unlock();
  for (Waiters::Waiter& waiter : ready) {
    post_([tell = std::move(waiter.tell), reached = reached(waiter.seq)] { tell(reached); });
  }
  lock.lock();
}

void Feed::committed(Part part) {
  Lock lock(mutex_);
  backlog_.committed(part);
  position_.store(part.upto.n, std::memory_order_release);
  tell_waiters(lock, now());
}

void Feed::made_durable(Seq position) {
  {
    const std::lock_guard lock(mutex_);
    backlog_.made_durable();
  }
  durable_.store(position.n, std::memory_order_release);
}

void Feed::give_up(const Error& why) {
  Lock lock(mutex_);
  given_up_ = true;
  trouble_ = why;
  backlog_.drop();
  // No snapshot waits for a history that cannot go on.
  durable_.store(UINT64_MAX, std::memory_order_release);
  tell_waiters(lock, now());
}

void Feed::set_trouble(std::optional<Error> trouble) {
  const std::lock_guard lock(mutex_);
  trouble_ = std::move(trouble);
}

std::optional<Error> Feed::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Feed::stop() {
  Lock lock(mutex_);
  stop_ = true;
  tell_waiters(lock, now());
  changed_.notify_all();
}

}  // namespace parley::view
