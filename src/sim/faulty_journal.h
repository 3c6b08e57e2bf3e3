// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "journal/journal.h"
#include "sim/setting.h"
#include "sim/shared_log.h"

namespace parley::sim {

// One node's way to the log, with faults. It outlives the node: `crash` forgets what a process
// forgets. `pass_time` lets slow answers and snapshots come.
class FaultyJournal final : public journal::Journal {
 public:
  FaultyJournal(Setting& setting, SharedLog& log, int node)
      : setting_(setting), log_(log), node_(node) {}

  std::expected<void, Error> append(std::span<const std::string_view> payloads,
                                    journal::Sync sync) override;
  journal::Appending appending() override { return appending_; }
  std::expected<void, Error> read(
      Seq after, size_t bytes_max,
      const std::function<void(const journal::Record&)>& visit) override;
  std::expected<std::string, Error> fetch(Seq seq) override;
  Seq last() override { return visible_; }
  std::expected<void, Error> save(journal::Snapshot snapshot) override;
  std::optional<Error> take_save_failure() override {
    return std::exchange(save_failure_, std::nullopt);
  }
  Seq snapshot_seq() override { return snapshot_ ? snapshot_->seq : Seq{}; }
  std::expected<std::optional<journal::Snapshot>, Error> load() override;
  void trim(Seq upto, std::vector<Seq> keep) override;

  void pass_time();
  void crash();
  // The node begins anew: it sees the whole log.
  void reopen();

  // Called with each snapshot that is saved.
  std::function<void(const journal::Snapshot&)> on_save;

 private:
  // How an append that does not end at once will end.
  enum class Fate : uint8_t { stored, stored_unanswered, late, never };

  Fate choose_fate();
  void store(const SharedLog::Batch& batch);
  void settle_pending();
  void store_snapshot();

  Setting& setting_;
  SharedLog& log_;
  int node_;
  Seq visible_;
  journal::Appending appending_ = journal::Appending::idle;
  std::optional<SharedLog::Batch> pending_;
  bool pending_stored_ = false;  // It is in the log, but the answer is not here yet.
  Fate fate_ = Fate::stored;
  bool failed_ = false;                       // Until the node starts again.
  std::optional<SharedLog::Batch> in_limbo_;  // Of a failed append: a restart may find it.
  std::optional<journal::Snapshot> snapshot_;
  std::optional<journal::Snapshot> saving_;
  std::optional<Error> save_failure_;
  Seq trimmed_;
  std::vector<Seq> keep_;
};

}  // namespace parley::sim
