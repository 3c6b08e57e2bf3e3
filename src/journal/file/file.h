// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "journal/archive/archive.h"
#include "journal/archive/place.h"
#include "journal/file/disk.h"
#include "journal/file/fetcher.h"
#include "journal/file/log_writer.h"
#include "journal/file/recovery.h"
#include "journal/journal.h"

namespace parley::journal {

// A journal in a directory of segment files, for one process at a time: docs/journal-format.md.
// A batch is one write and, with Sync::yes, one sync; `append` finishes at once, but for batches
// that are synced behind it. A write or sync that fails makes every later append fail with
// storage_failed, until the journal is opened again; a full disk does not. A batch that failed
// behind its append is `lost`.
//
// LogWriter has the segment that is being written, Archive all other files. What is read comes from
// the memory of the one or the files of both.
class FileJournal final : public Journal {
 public:
  struct Options {
    std::filesystem::path directory;          // made when it does not exist
    size_t segment_bytes = size_t{64} << 20;  // rounded up to whole blocks
    // False does the work of the archive's threads inside the call that asks for it, so that tests
    // and the simulator repeat exactly.
    bool background = true;
    Disk* disk = nullptr;    // the machine's own when null; outlives the journal
    uint64_t keep_free = 0;  // bytes of the disk; no spare is made, nor kept, that leaves less
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
  base::Duration stored_for() const override { return log_.stored_for(); }
  Seq last() override { return log_.last(); }
  std::expected<void, Error> save(Snapshot snapshot) override;
  std::optional<Error> take_save_failure() override;
  Seq snapshot_seq() override;
  std::expected<std::optional<Snapshot>, Error> load() override;
  void trim(Seq upto, std::vector<Seq> keep) override;

  // Of the newest record.
  Time last_time() const { return log_.segment().last_time; }

  // What opening found and did.
  const OpenReport& report() const { return report_; }

  // What was appended since.
  using Totals = LogWriter::Totals;
  const Totals& totals() const { return log_.totals(); }

  // How many bytes can still be appended, as far as the journal knows: of the disk, and of spares.
  // What is left of the segment that is being written is not counted.
  uint64_t room();

  // Waits until no batch is pending and the archive's threads have nothing left to do.
  void settle();

  // The last failure of the archive's threads, other than of a snapshot; each is returned once. The
  // journal goes on: no spare is ready, or space was not given back.
  std::optional<Error> take_trouble();

 private:
  // What `open` has taken and found.
  struct Opened {
    std::unique_ptr<Disk> own_disk;  // null when the options name one
    Disk& disk;
    File lock_file;
    Recovered recovered;
  };
  FileJournal(Opened opened, const Options& options, base::Clock& clock);

  std::expected<std::vector<Place>, Error> places(Seq seq);

  // In the order in which they need each other: the lock ends when all else has ended.
  std::unique_ptr<Disk> own_disk_;
  File lock_file_;
  const OpenReport report_;
  Seq trimmed_;  // the records up to here cannot be read in order
  Archive archive_;
  std::unique_ptr<Fetcher> fetcher_;
  LogWriter log_;
};

}  // namespace parley::journal
