// SPDX-License-Identifier: Apache-2.0
#include "view/feed.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace parley::view {

Feed::Feed(const Options& options, Post post, Seq position)
    : options_(options),
      post_(std::move(post)),
      position_(position.n),
      durable_(position.n),
      applied_(position.n),
      last_(position) {}

void Feed::push(const core::Machine& machine, const core::Entry& entry,
                const core::Outcome& outcome, std::span<const core::Effect> effects) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (entry.seq <= last_ || given_up_) {
      return;  // folded in already, or never
    }
    Part& part = open_part();
    const size_t before = part.facts.bytes();
    part.facts.add(machine, entry, outcome, effects);
    part.upto = entry.seq;
    ++part.entries;
    if (const auto* send = std::get_if<core::Send>(&entry.command)) {
      const size_t bytes = send->envelope.body.size() + send->envelope.extra.size();
      part.record_bytes += bytes;
      record_bytes_ += bytes;
    }
    bytes_ += part.facts.bytes() - before;
    last_ = entry.seq;
    ++entries_;
    applied_.store(entry.seq.n, std::memory_order_release);
    update_full();
    const bool half_full = is_half_full();
    wake = sleeping_ || (half_full && !hurry_);
    hurry_ = hurry_ || half_full;
    sleeping_ = false;
  }
  if (wake) {
    changed_.notify_one();
  }
}

// The part that collects: the last one, or another when that is large enough.
Feed::Part& Feed::open_part() {
  const bool first = collecting_.empty();
  if (first || collecting_.back().entries >= options_.part_entries ||
      collecting_.back().record_bytes >= options_.part_bytes) {
    collecting_.emplace_back();
    if (!first) {
      collecting_.back().facts.reserve(2 * options_.part_entries);
    }
  }
  return collecting_.back();
}

uint64_t Feed::lag() const {
  const uint64_t position = position_.load(std::memory_order_acquire);
  const uint64_t applied = applied_.load(std::memory_order_acquire);
  return applied > position ? applied - position : 0;
}

uint64_t Feed::lag_bytes() {
  const std::lock_guard lock(mutex_);
  return record_bytes_;
}

void Feed::update_full() {
  full_.store(bytes_ >= options_.bytes_max || record_bytes_ >= options_.record_bytes_max,
              std::memory_order_relaxed);
}

void Feed::wait_for(Seq seq, TimePoint deadline, Tell tell) {
  Waiter waiter{seq, deadline, std::move(tell)};
  {
    const std::lock_guard lock(mutex_);
    if (position() < seq && waiters_.size() < options_.waiters_max && !stop_ &&
        !given_up_) {
      waiters_.push_back(std::move(waiter));
      hurry_ = true;
    }
  }
  if (!waiter.tell) {
    changed_.notify_one();
    return;
  }
  post_([tell = std::move(waiter.tell), reached = reached(waiter)] { tell(reached); });
}

Feed::Reached Feed::reached(const Waiter& waiter) const {
  const Seq at = position();
  return {at >= waiter.seq, at, lag()};
}

bool Feed::is_half_full() const {
  return bytes_ >= options_.bytes_max / 2 || record_bytes_ >= options_.record_bytes_max / 2;
}

bool Feed::is_due(TimePoint now) {
  if (entries_ == 0 || hurry_ || now < last_look_ + options_.interval) {
    return entries_ > 0 && hurry_;
  }
  const bool burst = entries_ - entries_seen_ >= options_.burst_entries;
  entries_seen_ = entries_;
  last_look_ = now;
  return !burst || now >= last_taken_ + options_.burst_max;
}

Feed::TimePoint Feed::next_wake(TimePoint idle_at) const {
  const TimePoint next =
      entries_ > 0 ? std::min(idle_at, last_look_ + options_.interval) : idle_at;
  return std::min(next, next_deadline());
}

Feed::TimePoint Feed::next_deadline() const {
  TimePoint next = TimePoint::max();
  for (const Waiter& waiter : waiters_) {
    next = std::min(next, waiter.deadline);
  }
  return next;
}

Feed::Woken Feed::take(std::deque<Part>& parts, TimePoint idle_at) {
  parts.clear();
  Lock lock(mutex_);
  while (!stop_) {
    const TimePoint now = std::chrono::steady_clock::now();
    tell_waiters(lock, now);
    if (is_due(now)) {
      std::swap(parts, collecting_);
      entries_ = 0;
      entries_seen_ = 0;
      hurry_ = false;
      last_taken_ = now;
      last_look_ = now;
      return Woken::facts;
    }
    if (now >= idle_at) {
      return Woken::idle;
    }
    const TimePoint next = next_wake(idle_at);
    sleeping_ = entries_ == 0;
    if (next == TimePoint::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, next);
    }
    sleeping_ = false;
  }
  return Woken::stopped;
}

bool Feed::stopped(TimePoint deadline) {
  Lock lock(mutex_);
  while (!stop_) {
    const TimePoint now = std::chrono::steady_clock::now();
    tell_waiters(lock, now);
    if (now >= deadline) {
      return false;
    }
    changed_.wait_until(lock, std::min(deadline, next_deadline()));
  }
  return true;
}

// Tells those who are served or late. The lock is not held meanwhile: posting may take another.
void Feed::tell_waiters(Lock& lock, TimePoint now) {
  const auto waits = [&](const Waiter& waiter) {
    return !stop_ && !given_up_ && position() < waiter.seq && now < waiter.deadline;
  };
  const auto done = std::ranges::partition(waiters_, waits);
  if (done.empty()) {
    return;
  }
  std::vector<Waiter> told(std::move_iterator(done.begin()), std::move_iterator(done.end()));
  waiters_.erase(done.begin(), done.end());
  lock.unlock();
  for (Waiter& waiter : told) {
    post_([tell = std::move(waiter.tell), reached = reached(waiter)] { tell(reached); });
  }
  lock.lock();
}

void Feed::committed(const Part& part) {
  Lock lock(mutex_);
  bytes_ -= part.facts.bytes();
  record_bytes_ -= part.record_bytes;
  update_full();
  position_.store(part.upto.n, std::memory_order_release);
  tell_waiters(lock, std::chrono::steady_clock::now());
}

void Feed::made_durable(Seq position) { durable_.store(position.n, std::memory_order_release); }

void Feed::give_up(const Error& why) {
  Lock lock(mutex_);
  given_up_ = true;
  trouble_ = why;
  collecting_.clear();
  entries_ = 0;
  full_.store(false, std::memory_order_relaxed);
  durable_.store(UINT64_MAX, std::memory_order_release);
  tell_waiters(lock, std::chrono::steady_clock::now());
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
  tell_waiters(lock, std::chrono::steady_clock::now());
  changed_.notify_all();
}

}  // namespace parley::view
