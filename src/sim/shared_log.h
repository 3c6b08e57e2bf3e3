// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/command.h"
#include "sim/setting.h"

namespace parley::sim {

// The log that all nodes share, whole from the first record on, so that it can be replayed.
// Batches on their way to it may arrive at any time. One thread.
class SharedLog {
 public:
  struct Record {
    Time time;
    Time stamp;  // What the checker sees: the same time, but for a canary.
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

  // The ends of batches: a lagging reader sees the log up to one of them.
  const std::vector<Seq>& ends() const { return ends_; }

 private:
  Setting& setting_;
  std::vector<Record> records_;
  std::vector<Seq> ends_;
  std::deque<Batch> late_;
  std::set<core::CommandId> ids_;
  Seq synced_;
};

}  // namespace parley::sim
