// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "edge/files/finder.h"
#include "edge/files/jobs.h"
#include "edge/files/store.h"

namespace parley::edge::files {

// The thread that does all that waits for the disk: the loop gives it jobs, and hears reports.
class FileThread {
 public:
  struct Options {
    Store::Options store;
    Finder::Options finder;
    base::Duration look_every = base::seconds(2);
    // Gets reports, on this thread.
    std::function<void(std::vector<Report>)> tell;
    std::function<void(const std::string&)> warn{};
  };

  explicit FileThread(Options options);
  // Does the jobs that it has, and ends.
  ~FileThread();
  FileThread(const FileThread&) = delete;
  FileThread& operator=(const FileThread&) = delete;

  void add(Job job);
  // Jobs that are not done yet.
  size_t waiting() const;

 private:
  void run();
  void wait(int watched) const;
  void work(Store& store, Finder& finder, const Job& job);
  void complain(const base::Error& error);

  const Options options_;
  const int wake_;  // an eventfd
  mutable std::mutex mutex_;
  std::deque<Job> jobs_;    // under mutex_
  size_t doing_ = 0;        // under mutex_
  bool stopping_ = false;   // under mutex_
  std::string complained_;  // the newest thing that was wrong: told once

  std::thread thread_;  // last, so that all else is there when it starts
};

}  // namespace parley::edge::files
