// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <expected>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "journal/journal.h"

namespace parley::journal {

// A thread that reads records while its owner goes on, in the order in which they were asked for.
// One thread owns it and calls it.
class Fetcher {
 public:
  using Read = std::move_only_function<std::expected<std::string, Error>()>;

  // `done` is called on the fetcher's thread when something can be taken that could not before.
  explicit Fetcher(std::function<void()> done);

  // Drops what was not read yet.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  void add(Seq seq, Read read);
  bool has_some() const { return has_some_.load(std::memory_order_acquire); }
  std::vector<Fetched> take();

 private:
  void run();

  const std::function<void()> done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Seq, Read>> asked_;  // under mutex_
  std::vector<Fetched> read_;               // under mutex_
  bool stopping_ = false;                   // under mutex_
  std::atomic<bool> has_some_ = false;

  std::thread thread_;  // last, so that all else is there when it starts
};

}  // namespace parley::journal
