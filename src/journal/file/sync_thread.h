// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "journal/file/disk.h"

namespace parley::journal {

// Bytes on their way into a file. The file, the path and the bytes stay until they are stored.
struct Storing {
  const File& file;
  const std::string& path;
  std::string_view bytes;
  uint64_t at = 0;
};

// Writes the bytes and makes them durable; an Error that names the path when either fails.
std::expected<void, base::Error> store(const Storing& storing);

// A thread that stores one batch while its owner goes on. One thread owns it and calls it.
class SyncThread {
 public:
  // Stores a batch, whose bytes stay as they are until it is done.
  using Work = std::function<std::expected<void, base::Error>()>;

  // `done` is called on the sync thread, after `busy` has become false.
  explicit SyncThread(std::function<void()> done);

  // Finishes the batch that was begun.
  ~SyncThread();
  SyncThread(const SyncThread&) = delete;
  SyncThread& operator=(const SyncThread&) = delete;

  // Not while it is busy.
  void begin(Work work);
  bool busy() const { return busy_.load(std::memory_order_acquire); }
  void wait() const { busy_.wait(true, std::memory_order_acquire); }

  // What became of the last batch; only when it is not busy.
  const std::expected<void, base::Error>& outcome() const { return outcome_; }

 private:
  void run();

  const std::function<void()> done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Work work_;              // under mutex_; empty: none waits
  bool stopping_ = false;  // under mutex_
  std::atomic<bool> busy_ = false;
  std::expected<void, base::Error> outcome_;  // written by the thread while it is busy

  std::thread thread_;  // last, so that all else is there when it starts
};

}  // namespace parley::journal
