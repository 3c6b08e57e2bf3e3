// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "journal/archive/archived_segments.h"
#include "journal/archive/place.h"
#include "journal/archive/spares.h"
#include "journal/file/disk.h"
#include "journal/file/recovery.h"
#include "journal/file/segment.h"
#include "journal/journal.h"

namespace parley::journal {

// All files of a journal but the segment that is being written: full segments, carried ones,
// spares and snapshots. Its two threads do what would stall the appending: the housekeeper makes
// spares and gives the space of trimmed records back; the other makes and stores snapshots, which
// takes long. One mutex; never held during a write or a sync.
class Archive {
 public:
  struct Options {
    std::string directory;
    uint64_t segment_bytes = 0;
    bool background = true;  // false: the work is done inside the call that asks for it
    uint64_t keep_free = 0;  // bytes of the disk; no spare is made, nor kept, that leaves less
  };

  Archive(Disk& disk, Options options, Recovered&& recovered);

  // Stores a snapshot that was handed over whole. One that must be made is dropped, also while it
  // is being made. Drops other work, and ends the threads.
  ~Archive();

  // The path of a file that can become a segment: it holds zeros, or bytes of a former segment. The
  // caller syncs and renames it. Takes a spare; where none is ready, makes a file whose space is
  // reserved but not written, which is quick but makes appending slower. storage_full when there is
  // no space.
  std::expected<std::string, Error> take_file(uint64_t bytes);

  // How many bytes the next files can have: what is free on the disk, and the spares. Gives spares
  // back while less than `keep_free` is free.
  uint64_t room();

  // Asks for a spare to be made if there is none.
  void want_spare();

  // Takes over a segment that is full and synced.
  void add(Segment segment);

  // The segments that hold `seq`, or may; none when it was trimmed. The log segment is the first.
  std::expected<std::vector<Place>, Error> places(Seq seq);

  // As in Journal.
  void save(Snapshot snapshot);
  std::optional<Error> take_save_failure();
  Seq snapshot_seq();
  std::expected<std::optional<Snapshot>, Error> load();
  void trim(Seq upto, std::vector<Seq> keep);

  // Waits until nothing is left to do.
  void settle();

  // The last failure of the threads, other than of a snapshot; each is returned once.
  std::optional<Error> take_trouble();

 private:
  struct Trim {
    Seq upto;
    std::vector<Seq> keep;
  };
  using Lock = std::unique_lock<std::mutex>;

  using Work = bool (Archive::*)(Lock& lock);
  void run(Work work);
  void wake(Lock& lock);
  bool keep_house(Lock& lock);
  bool keep_snapshots(Lock& lock);
  void store(Snapshot& snapshot, Lock& lock);
  bool is_stopping();
  void give_back(const Trim& trim, Lock& lock);
  void retire(const std::vector<const Segment*>& segments, Lock& lock);

  Disk& disk_;
  const Options options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool is_keeping_house_ = false;
  bool is_storing_ = false;
  // Only the housekeeper removes, so that it may look at a segment without the mutex.
  ArchivedSegments segments_;
  Spares spares_;
  std::vector<Seq> snapshots_;
  std::optional<Snapshot> snapshot_waiting_;
  std::optional<Trim> trim_waiting_;
  std::optional<Error> save_failure_;
  std::optional<Error> trouble_;

  std::thread housekeeper_;  // last, so that all else is there when they start
  std::thread snapshots_keeper_;
};

}  // namespace parley::journal
