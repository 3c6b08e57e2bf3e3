// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "edge/files/jobs.h"
#include "edge/files/tree.h"

namespace parley::edge::files {

// Hears from the kernel (inotify) which files of which directories changed. A hint: where it is not
// to be had, or too much happened, the periodic look at the directories finds the same.
class Watch {
 public:
  using Where = std::pair<std::string, Place>;

  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Readable when there is something to take; -1: there is no inotify.
  int fd() const { return fd_; }
  void add(const Where& where, const Directory& directory);
  void remove(const std::string& box);
  // Calls `changed` for each file that was written, came or went. False: some were not told.
  bool take(const std::function<void(const Where&, const std::string& name)>& changed);

 private:
  int fd_ = -1;
  std::map<int, Where> watched_;  // by the kernel's number
};

}  // namespace parley::edge::files
