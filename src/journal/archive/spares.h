// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "journal/file/disk.h"
#include "journal/journal.h"

namespace parley::journal {

// The spare files of a journal, and what is to be done about them. A spare makes appending faster,
// and is good for the next segment alone: what is kept free on the disk is for snapshots and for
// the history too, so spares give way to it. A part of Archive, whose mutex guards it.
class Spares {
 public:
  struct Options {
    std::string directory;
    uint64_t bytes = 0;  // of one
    uint64_t keep_free = 0;
  };

  Spares(Disk& disk, Options options, std::vector<std::string> found);

  // One of them, which is then the caller's; none when there is none.
  std::optional<std::string> take();
  // Files that have become spares; no more than there are places for.
  void add(const std::vector<std::string>& paths);
  size_t places() const;

  // What the next segments can have: what is free on the disk, and the spares. Notices when spares
  // must be given back.
  uint64_t room();
  // One is to be made, if there is none.
  void want() { wanted_ = paths_.empty(); }
  void want_nothing() { wanted_ = too_many_ = false; }

  // Whether one is to be made, or some are to be given back; `work` does that, without the mutex.
  bool has_work() const { return wanted_ || too_many_; }
  std::expected<void, Error> work(std::unique_lock<std::mutex>& lock);

 private:
  std::expected<void, Error> make(std::unique_lock<std::mutex>& lock);
  void give_back(std::unique_lock<std::mutex>& lock);
  // Whether less than that many bytes more than what is kept free are free.
  bool is_short(uint64_t more) const;

  Disk& disk_;
  const Options options_;
  std::vector<std::string> paths_;
  bool wanted_ = false;
  bool too_many_ = false;
};

}  // namespace parley::journal
