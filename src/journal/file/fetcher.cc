// SPDX-License-Identifier: Apache-2.0
#include "journal/file/fetcher.h"

namespace parley::journal {

Fetcher::Fetcher(std::function<void()> done) : done_(std::move(done)), thread_([this] { run(); }) {}

Fetcher::~Fetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Fetcher::add(Seq seq, Read read) {
  {
    const std::lock_guard lock(mutex_);
    asked_.emplace_back(seq, std::move(read));
  }
  changed_.notify_one();
}

std::vector<Fetched> Fetcher::take() {
  const std::lock_guard lock(mutex_);
  has_some_.store(false, std::memory_order_release);
  return std::exchange(read_, {});
}

void Fetcher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
    if (stopping_) {
      return;
    }
    auto [seq, read] = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    auto payload = read();
    lock.lock();
    read_.push_back({seq, std::move(payload)});
    // Waking the owner for each record would cost more than the record. So it is woken when there
    // is no more to read, or enough to do with what there is.
    constexpr size_t enough = 64;
    if (asked_.empty() || read_.size() % enough == 0) {
      has_some_.store(true, std::memory_order_release);
      lock.unlock();
      done_();
      lock.lock();
    }
  }
}

}  // namespace parley::journal
