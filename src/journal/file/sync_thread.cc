// SPDX-License-Identifier: Apache-2.0
#include "journal/file/sync_thread.h"

#include <utility>

#include "base/check.h"

namespace parley::journal {

std::expected<void, base::Error> store(const Storing& storing) {
  if (const auto written = storing.file.write(storing.bytes, storing.at); !written) {
    return std::unexpected(storage_error("write", storing.path, written.error()));
  }
  if (const auto synced = storing.file.sync(); !synced) {
    return std::unexpected(storage_error("sync", storing.path, synced.error()));
  }
  return {};
}

SyncThread::SyncThread(std::function<void()> done)
    : done_(std::move(done)), thread_([this] { run(); }) {}

SyncThread::~SyncThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void SyncThread::begin(Work work) {
  CHECK(!busy());
  busy_.store(true, std::memory_order_relaxed);  // the mutex orders it before the work
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
  }
  changed_.notify_one();
}

void SyncThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || work_; });
    // It does not go by `stopping_`: a batch that was begun is stored first.
    if (!work_) {
      return;
    }
    const Work work = std::exchange(work_, nullptr);
    lock.unlock();
    // `outcome_` needs no lock: the owner reads it only when `busy_` is false.
    outcome_ = work();
    busy_.store(false, std::memory_order_release);
    busy_.notify_one();
    done_();
    lock.lock();
  }
}

}  // namespace parley::journal
