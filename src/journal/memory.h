// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "journal/journal.h"

namespace parley::journal {

class MemoryJournal;

// The records that several MemoryJournals share, in the memory of one process; for tests and the
// simulator. One thread. Outlives its journals, and so do its records.
class MemoryLog {
 public:
  explicit MemoryLog(base::Clock& clock) : clock_(clock) {}

  // How many records take up memory.
  size_t records_held() const { return records_.size() + kept_.size(); }

 private:
  friend class MemoryJournal;

  struct Entry {
    Time time;
    std::string payload;
  };

  Seq last() const { return Seq{freed_.n + records_.size()}; }
  void free_trimmed();

  base::Clock& clock_;
  Time last_time_;
  Seq freed_;                  // the place before the first of `records_`
  std::deque<Entry> records_;  // all after `freed_`
  std::map<Seq, std::string> kept_;
  std::vector<MemoryJournal*> journals_;
};

// One node's journal on a MemoryLog. An append is done at once and readable by all; the snapshot
// and what is trimmed are this journal's own. The log frees a record when every journal on it has
// trimmed it and none keeps it.
class MemoryJournal final : public Journal {
 public:
  explicit MemoryJournal(MemoryLog& log);
  ~MemoryJournal() override;
  MemoryJournal(const MemoryJournal&) = delete;
  MemoryJournal& operator=(const MemoryJournal&) = delete;

  std::expected<void, Error> append(std::span<const std::string_view> payloads,
                                    Sync sync) override;
  Appending appending() override { return Appending::idle; }
  std::expected<void, Error> read(Seq after, size_t bytes_max,
                                  const std::function<void(const Record&)>& visit) override;
  std::expected<std::string, Error> fetch(Seq seq) override;
  Seq last() override { return log_.last(); }
  std::expected<void, Error> save(Snapshot snapshot) override;
  std::optional<Error> take_save_failure() override {
    return std::exchange(save_failure_, std::nullopt);
  }
  Seq snapshot_seq() override { return snapshot_ ? snapshot_->seq : Seq{}; }
  std::expected<std::optional<Snapshot>, Error> load() override { return snapshot_; }
  void trim(Seq upto, std::vector<Seq> keep) override;

 private:
  friend class MemoryLog;

  MemoryLog& log_;
  std::optional<Snapshot> snapshot_;
  std::optional<Error> save_failure_;
  Seq trimmed_;
  std::vector<Seq> keep_;
};

}  // namespace parley::journal
