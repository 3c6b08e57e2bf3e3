// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/model/command.h"
#include "journal/journal.h"
#include "sim/canary.h"
#include "sim/clock.h"
#include "sim/coverage.h"
#include "sim/random.h"

namespace parley::sim {

using base::Error;
using base::Seq;
using base::Time;

// Over 150 lines: the log that nodes share, and the way of each to it.
// How often each fault strikes, in a thousand times that it could.
struct FaultRates {
  uint32_t refuse = 0;
  uint32_t fail = 0;
  uint32_t slow = 0;
  uint32_t lose = 0;
  uint32_t lag = 0;
  uint32_t read_fail = 0;
  uint32_t save_slow = 0;
  uint32_t save_fail = 0;
  uint32_t save_bad = 0;
};

// What the simulated system has in common: its chance, its clock, its faults, its planted bug.
struct Setting {
  Random random;
  Clock clock;
  FaultRates rates;
  Canary canary = Canary::none;
  Coverage coverage;
  std::deque<std::string> history;  // the newest last
  bool verbose = false;

  // Keeps a line for those who look for the cause of a failure.
  void note(std::string line);
  bool strikes(uint32_t per_mille) { return per_mille > 0 && random.chance(per_mille); }
};

// The log that all nodes share, whole from the first record on, so that it can be replayed.
// Batches on their way to it may arrive at any time. One thread.
class SharedLog {
 public:
  struct Record {
    Time time;
    Time stamp;  // what the checker sees; the same but for a canary
    std::string payload;
    core::CommandId id;
    bool repeated = false;
  };
  struct Batch {
    std::vector<std::string> payloads;
    bool sync = false;
  };

  explicit SharedLog(Setting& setting) : setting_(setting) {}

  void store(const Batch& batch);
  // Keeps the batch on its way; `arrive` stores one such batch, and is false when there is none.
  void send_late(Batch batch) { late_.push_back(std::move(batch)); }
  bool arrive();
  void drop_late() { late_.clear(); }

  Seq last() const { return Seq{records_.size()}; }
  Seq synced() const { return synced_; }
  void sync(Seq upto) { synced_ = std::max(synced_, upto); }
  const Record& at(Seq seq) const { return records_[seq.n - 1]; }

  // Loses some of what was not synced; returns how many records.
  size_t lose_power();

  // The time up to which a lagging reader may see: ends of batches only.
  const std::vector<Seq>& ends() const { return ends_; }

 private:
  Setting& setting_;
  std::vector<Record> records_;
  std::vector<Seq> ends_;
  std::deque<Batch> late_;
  std::set<core::CommandId> ids_;
  Seq synced_;
};

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
  bool pending_stored_ = false;  // it is in the log, but the answer is not here yet
  Fate fate_ = Fate::stored;
  bool failed_ = false;                       // until the node starts again
  std::optional<SharedLog::Batch> in_limbo_;  // of a failed append: a restart may find it
  std::optional<journal::Snapshot> snapshot_;
  std::optional<journal::Snapshot> saving_;
  std::optional<Error> save_failure_;
  Seq trimmed_;
  std::vector<Seq> keep_;
};

}  // namespace parley::sim
