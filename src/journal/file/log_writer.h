// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "journal/archive/archive.h"
#include "journal/archive/place.h"
#include "journal/file/batch.h"
#include "journal/file/disk.h"
#include "journal/file/segment.h"
#include "journal/file/sync_thread.h"
#include "journal/journal.h"

namespace parley::journal {

// The end of a journal's log: appends batches to the newest segment, and begins the next one when a
// batch does not fit. Knows which records are durable, and keeps the newest batches in memory.
// After a write or sync that failed it refuses everything with storage_failed.
//
// One thread calls it. While a batch is pending the sync thread makes and stores it; the state of
// the segment does not change until the calling thread learns of the outcome.
class LogWriter {
 public:
  struct Options {
    std::string directory;
    uint64_t segment_bytes = 0;  // whole blocks
  };

  // What was appended: bytes of records, and batches that were synced.
  struct Totals {
    uint64_t bytes = 0;
    uint64_t syncs = 0;
  };

  // The others outlive it.
  LogWriter(Disk& disk, Archive& archive, base::Clock& clock, Options options);

  // Goes on behind the last record of `newest`, or begins the first segment. Once, before all else.
  std::expected<void, Error> start(std::optional<Segment> newest);

  // As in FileJournal.
  void sync_behind(size_t bytes_min, std::function<void()> on_synced);

  // As in Journal. `last` is the newest record that can be read.
  std::expected<void, Error> append(std::span<const std::string_view> payloads, Sync sync);
  Appending appending();
  void wait();
  Seq last();

  // Makes the records up to `seq` durable, where they are not; waits for the pending batch then.
  std::expected<void, Error> sync_upto(Seq seq);

  // The segment that is being written, without the pending batch.
  const Segment& segment() const { return active_; }
  // Opens that segment to read from `seq` on, which it holds.
  std::expected<Place, Error> place(Seq seq) const { return open_place(disk_, active_, seq); }
  const RecentBatches& recent() const { return recent_; }

  const Totals& totals() const { return totals_; }
  // How long callers have waited for writes and syncs, in all.
  base::Duration stored_for() const { return stored_for_; }

 private:
  std::expected<void, Error> roll(uint64_t batch_bytes);
  std::expected<void, Error> activate(const std::string& path, const SegmentHeader& header);
  void make_batch(std::span<const std::string_view> payloads, uint64_t bytes, Time now);
  std::expected<void, Error> write_batch(Sync sync);
  void count_batch(Sync sync);
  void finish_pending();
  std::expected<void, Error> sync_active();
  Error poison(Error error);

  Disk& disk_;
  Archive& archive_;
  base::Clock& clock_;
  const Options options_;

  Segment active_;
  File file_;
  Seq synced_;  // the last record known to be durable
  std::optional<Error> failed_;
  RecentBatches recent_;
  Totals totals_;
  base::Duration stored_for_;

  bool pending_ = false;  // the sync thread makes and stores the coming batch
  bool lost_ = false;     // the sync thread could not store it
  size_t behind_bytes_min_ = 0;
  // Last, so that all that it works with lives as long as it does.
  std::unique_ptr<SyncThread> sync_thread_;
};

}  // namespace parley::journal
