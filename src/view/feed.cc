// SPDX-License-Identifier: Apache-2.0
#include "view/feed.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace parley::view {

namespace {

constexpr size_t spare_max = 8;

}  // namespace

Feed::Feed(const Options& options, Post post, Seq position)
    : options_(options),
      post_(std::move(post)),
      position_(position.n),
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
    ++entries_since_look_;
    applied_.store(entry.seq.n, std::memory_order_release);
    update_full();
    const bool pressed = std::exchange(presses_, is_half_full());
    wake = sleeping_ || (presses_ && !pressed);
    sleeping_ = false;
  }
  if (wake) {
    changed_.notify_one();
  }
}

// The part that collects: the last one, or another when that is large enough.
Feed::Part& Feed::open_part() {
  const bool first = collecting_.empty();
  if (first || collecting_.back().facts.size() >= options_.part_facts ||
      collecting_.back().record_bytes >= options_.part_bytes) {
    collecting_.emplace_back();
    if (!spare_.empty()) {
      collecting_.back().facts = std::move(spare_.back());
      spare_.pop_back();
    } else if (!first) {
      collecting_.back().facts.reserve(options_.part_facts + options_.part_facts / 4);
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
  if (entries_ == 0) {
    waits_since_.reset();
    return false;
  }
  if (!waits_since_) {
    waits_since_ = now;
    look(now);
  } else if (now >= last_look_ + options_.look_every) {
    look(now);
  }
  return !waiters_.empty() || is_half_full() || now >= rests_until_;
}

void Feed::look(TimePoint now) {
  const std::chrono::duration<double> passed = now - last_look_;
  const bool burst = static_cast<double>(entries_since_look_) >=
                     static_cast<double>(options_.burst_per_second) * passed.count();
  entries_since_look_ = 0;
  last_look_ = now;
  rests_until_ = *waits_since_ + (burst ? options_.burst_max : options_.interval);
}

Feed::TimePoint Feed::next_wake(TimePoint idle_at) const {
  const TimePoint next =
      entries_ > 0 ? std::min(idle_at, last_look_ + options_.look_every) : idle_at;
  return std::min(next, next_deadline());
}

Feed::TimePoint Feed::next_deadline() const {
  TimePoint next = TimePoint::max();
  for (const Waiter& waiter : waiters_) {
    next = std::min(next, waiter.deadline);
  }
  return next;
}

Feed::Woken Feed::take(Part& part, TimePoint idle_at) {
  Lock lock(mutex_);
  while (true) {
    const Woken woken = look_for_work(lock, part, idle_at);
    if (woken != Woken::early) {
      return woken;
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
    part = std::move(collecting_.front());
    collecting_.pop_front();
    entries_ -= part.entries;
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

void Feed::committed(Part part) {
  Lock lock(mutex_);
  bytes_ -= part.facts.bytes();
  record_bytes_ -= part.record_bytes;
  update_full();
  position_.store(part.upto.n, std::memory_order_release);
  if (spare_.size() < spare_max && part.facts.size() >= options_.part_facts / 2) {
    part.facts.clear();
    spare_.push_back(std::move(part.facts));
  }
  tell_waiters(lock, now());
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
