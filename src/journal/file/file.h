// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "journal/archive/archive.h"
#include "journal/archive/place.h"
#include "journal/file/batch.h"
#include "journal/file/disk.h"
#include "journal/file/fetcher.h"
#include "journal/file/recovery.h"
#include "journal/file/segment.h"
#include "journal/file/sync_thread.h"
#include "journal/journal.h"

namespace parley::journal {

// A journal in a directory of segment files, for one process at a time: docs/journal-format.md.
// A batch is one write and, with Sync::yes, one sync; `append` finishes at once, but for batches
// that are synced behind it. A write or sync that fails makes every later append fail with
// storage_failed, until the journal is opened again; a full disk does not. A batch that failed
// behind its append is `lost`.
class FileJournal final : public Journal {
 public:
  struct Options {
    std::filesystem::path directory;          // made when it does not exist
    size_t segment_bytes = size_t{64} << 20;  // rounded up to whole blocks
    // False does the work of the archive's threads inside the call that asks for it, so that tests
    // and the simulator repeat exactly.
    bool background = true;
    Disk* disk = nullptr;  // the machine's own when null; outlives the journal
  };

  // Reads and checks the whole journal. data_in_use when another process has it open,
  // journal_damaged when something that was stored is missing or altered.
  static std::expected<std::unique_ptr<FileJournal>, Error> open(Options options,
                                                                 base::Clock& clock);
  // Waits for the batch that is pending.
  ~FileJournal() override;

  // From now on a thread of the journal's makes, writes and syncs each batch with Sync::yes of at
  // least `bytes_min`, which is `pending` until then; smaller ones are done sooner than such a
  // thread is awake. `on_synced` is called on that thread when the fate of a batch is known. Once,
  // and not while a batch is pending.
  void sync_behind(size_t bytes_min, std::function<void()> on_synced);

  // From now on `fetch_later` reads by a thread of the journal's; `on_fetched` is called on that
  // thread when there is something to take. Once.
  void fetch_behind(std::function<void()> on_fetched);

  std::expected<void, Error> append(std::span<const std::string_view> payloads, Sync sync) override;
  Appending appending() override;
  void wait() override;
  std::expected<void, Error> read(Seq after, size_t bytes_max,
                                  const std::function<void(const Record&)>& visit) override;
  std::expected<std::string, Error> fetch(Seq seq) override;
  void fetch_later(const std::vector<Seq>& seqs) override;
  bool has_fetched() override;
  std::vector<Fetched> take_fetched() override;
  base::Duration stored_for() const override { return stored_for_; }
  Seq last() override;
  std::expected<void, Error> save(Snapshot snapshot) override;
  std::optional<Error> take_save_failure() override;
  Seq snapshot_seq() override;
  std::expected<std::optional<Snapshot>, Error> load() override;
  void trim(Seq upto, std::vector<Seq> keep) override;

  // Of the newest record.
  Time last_time() const { return active_.last_time; }

  // What opening found and did.
  const OpenReport& report() const { return report_; }

  // What was appended since: bytes of records, and batches that were synced.
  struct Totals {
    uint64_t bytes = 0;
    uint64_t syncs = 0;
  };
  const Totals& totals() const { return totals_; }

  // Waits until no batch is pending and the archive's threads have nothing left to do.
  void settle();

  // The last failure of the archive's threads, other than of a snapshot; each is returned once. The
  // journal goes on: no spare is ready, or space was not given back.
  std::optional<Error> take_trouble();

 private:
  FileJournal(std::unique_ptr<Disk> own_disk, Disk& disk, Options options, base::Clock& clock);

  std::expected<void, Error> start(File lock_file);
  std::expected<void, Error> roll(uint64_t batch_bytes);
  std::expected<void, Error> activate(const std::string& path, const SegmentHeader& header);
  void make_batch(std::span<const std::string_view> payloads, uint64_t bytes, Time now);
  std::expected<void, Error> write_batch(Sync sync);
  void count_batch(Sync sync);
  void finish_pending();
  std::expected<void, Error> sync_active();
  Error poison(Error error);

  // Ends when nothing is `left`, which `visit` counts down.
  using Visit = std::function<void(const Record&)>;
  std::expected<Seq, Error> read_file(Seq from, const size_t& left, const Visit& visit);
  std::expected<std::vector<Place>, Error> places_of(Seq seq);
  std::optional<std::string> fetch_from_memory(Seq seq) const;

  std::unique_ptr<Disk> own_disk_;
  Disk& disk_;
  const Options options_;
  const std::string directory_;
  base::Clock& clock_;
  OpenReport report_;
  Totals totals_;
  File lock_file_;
  std::unique_ptr<Archive> archive_;

  Segment active_;
  File active_file_;
  Seq synced_;   // the last record known to be durable
  Seq trimmed_;  // the records up to here cannot be read in order
  std::optional<Error> failed_;

  // The newest batches stay in memory, so that reading them back touches no disk. There are two,
  // because a small batch may be stored before the large one ahead of it was read.
  Batch batch_;   // the newest that counts
  Batch former_;  // the one before it
  Batch coming_;  // the one that is being stored

  base::Duration stored_for_;
  bool pending_ = false;  // the sync thread makes `coming_`; `active_`, `synced_` stay
  bool lost_ = false;     // the sync thread could not store it
  size_t behind_bytes_min_ = 0;
  std::unique_ptr<Fetcher> fetcher_;
  // Last, so that all that it works with lives as long as it does.
  std::unique_ptr<SyncThread> sync_thread_;
};

}  // namespace parley::journal
