// SPDX-License-Identifier: Apache-2.0
#include "sim/faulty_journal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace parley::sim {

namespace {

using journal::Appending;

std::unexpected<Error> fault(base::Code code, std::string detail) {
  return std::unexpected(Error{code, std::move(detail), {}});
}

}  // namespace

std::expected<void, Error> FaultyJournal::append(std::span<const std::string_view> payloads,
                                                 journal::Sync sync) {
  CHECK(appending_ != Appending::pending);
  SharedLog::Batch batch;
  batch.payloads.assign(payloads.begin(), payloads.end());
  batch.sync = sync == journal::Sync::yes;
  if (failed_) {
    return fault(base::Code::storage_failed, "storage failed before; restart the node");
  }
  if (setting_.strikes(setting_.rates.refuse)) {
    setting_.coverage.count("fault", "refused");
    if (setting_.canary == Canary::stored_though_refused) {
      log_.store(batch);
    }
    return fault(base::Code::storage_full, "the disk is full");
  }
  if (setting_.strikes(setting_.rates.fail)) {
    setting_.coverage.count("fault", "failed");
    failed_ = true;
    in_limbo_ = std::move(batch);
    return fault(base::Code::storage_failed, "the sync failed");
  }
  fate_ = choose_fate();
  if (setting_.strikes(setting_.rates.slow)) {
    setting_.coverage.count("fault", "slow");
    appending_ = Appending::pending;
    pending_stored_ = fate_ != Fate::late && fate_ != Fate::never && setting_.random.chance(500);
    if (pending_stored_) {
      log_.store(batch);
    }
    pending_ = std::move(batch);
    return {};
  }
  pending_ = std::move(batch);
  pending_stored_ = false;
  settle_pending();
  return {};
}

FaultyJournal::Fate FaultyJournal::choose_fate() {
  if (!setting_.strikes(setting_.rates.lose)) {
    return Fate::stored;
  }
  constexpr std::array<Fate, 3> lost = {Fate::stored_unanswered, Fate::late, Fate::never};
  return setting_.random.pick(lost);
}

// The batch gets into the log, unless it is there already or is lost. Then the node has its answer.
void FaultyJournal::settle_pending() {
  const SharedLog::Batch batch = std::move(*pending_);
  pending_.reset();
  appending_ = fate_ == Fate::stored ? Appending::idle : Appending::lost;
  switch (fate_) {
    case Fate::stored:
      if (!pending_stored_ && setting_.canary != Canary::append_forgotten) {
        log_.store(batch);
      }
      visible_ = log_.last();
      return;
    case Fate::stored_unanswered:
      setting_.coverage.count("fault", "stored unanswered");
      if (!pending_stored_) {
        log_.store(batch);
      }
      return;
    case Fate::late:
      setting_.coverage.count("fault", "stored late");
      log_.send_late(batch);
      return;
    case Fate::never:
      setting_.coverage.count("fault", "never stored");
      return;
  }
}

std::expected<void, Error> FaultyJournal::read(
    Seq after, size_t, const std::function<void(const journal::Record&)>& visit) {
  if (after < trimmed_) {
    return fault(base::Code::not_found, "the record was trimmed");
  }
  if (setting_.strikes(setting_.rates.read_fail)) {
    setting_.coverage.count("fault", "read failed");
    return fault(base::Code::storage_failed, "the read failed");
  }
  for (Seq seq = after.next(); seq <= visible_; seq = seq.next()) {
    const SharedLog::Record& record = log_.at(seq);
    const auto altered =
        setting_.plant
            ? setting_.plant(seq, record.payload)
            : planted_record(setting_.canary, ReadBy{node_, seq, record.repeated}, record.payload);
    visit(journal::Record{seq, record.time, altered ? *altered : record.payload});
  }
  return {};
}

std::expected<std::string, Error> FaultyJournal::fetch(Seq seq) {
  if ((seq <= trimmed_ && !std::ranges::binary_search(keep_, seq)) || seq > visible_) {
    return fault(base::Code::not_found, "the record is not there");
  }
  return log_.at(seq).payload;
}

std::expected<void, Error> FaultyJournal::save(journal::Snapshot snapshot) {
  CHECK(snapshot.seq <= visible_);
  saving_ = std::move(snapshot);
  return {};
}

std::expected<std::optional<journal::Snapshot>, Error> FaultyJournal::load() {
  if (snapshot_ && setting_.canary == Canary::snapshot_altered) {
    return journal::Snapshot{snapshot_->seq, altered_snapshot(snapshot_->state)};
  }
  return snapshot_;
}

void FaultyJournal::trim(Seq upto, std::vector<Seq> keep) {
  CHECK(upto <= snapshot_seq());
  CHECK(std::ranges::is_sorted(keep));
  trimmed_ = std::max(trimmed_, upto);
  keep_ = setting_.canary == Canary::body_lost ? std::vector<Seq>{} : std::move(keep);
}

void FaultyJournal::pass_time() {
  if (pending_ && setting_.random.chance(400)) {
    settle_pending();
  }
  if (saving_ && setting_.strikes(setting_.rates.save_fail)) {
    setting_.coverage.count("fault", "snapshot failed");
    saving_.reset();
    save_failure_ = Error{base::Code::storage_failed, "a snapshot could not be stored", {}};
  } else if (saving_ && setting_.strikes(setting_.rates.save_slow)) {
    setting_.coverage.count("fault", "snapshot late");
  } else if (saving_) {
    store_snapshot();
  }
  if (setting_.strikes(setting_.rates.lag)) {
    setting_.coverage.count("fault", "lag");
    return;
  }
  visible_ = log_.last();
}

// Now and then the state cannot be restored, as if the machine had a defect.
void FaultyJournal::store_snapshot() {
  journal::Snapshot snapshot = std::move(*saving_);
  saving_.reset();
  snapshot.make = [this, seq = snapshot.seq, make = std::move(snapshot.make)](
                      std::optional<journal::Snapshot> older, const auto& read) {
    auto made = make(std::move(older), read);
    if (made) {
      on_save({seq, *made});
      made->resize(made->size() - (setting_.strikes(setting_.rates.save_bad) ? 1 : 0));
    }
    return made;
  };
  if (setting_.canary == Canary::snapshot_unchecked) {
    snapshot.check = {};
  }
  const journal::ReadRecords read_records = [this](Seq after, Seq upto, const auto& visit) {
    for (Seq seq = after.next(); seq <= upto; seq = seq.next()) {
      const SharedLog::Record& record = log_.at(seq);
      // Snapshots are made from the records, so they have what is planted there, too.
      const auto altered =
          setting_.plant ? setting_.plant(seq, record.payload) : std::optional<std::string>();
      visit({seq, record.time, altered ? *altered : record.payload});
    }
    return std::expected<void, Error>{};
  };
  if (const auto completed = snapshot.complete(snapshot_, read_records); !completed) {
    setting_.coverage.count("fault", "snapshot refused");
    save_failure_ = completed.error();
    return;
  }
  log_.sync(snapshot.seq);  // A snapshot never outlives the records that it stands on.
  snapshot_ = std::move(snapshot);
}

void FaultyJournal::crash() {
  if (pending_ && fate_ == Fate::stored) {
    setting_.coverage.count("fault", "crash before answer");
    if (!pending_stored_) {
      fate_ = setting_.random.chance(500) ? Fate::late : Fate::never;
    }
  }
  if (pending_) {
    settle_pending();
  }
  if (saving_) {
    setting_.coverage.count("fault", "snapshot lost");
    saving_.reset();
  }
  (void)
      take_fetched();  // Asked for by a node that is gone: the next one would take it for its own.
  appending_ = Appending::idle;
  save_failure_.reset();
}

void FaultyJournal::reopen() {
  if (in_limbo_ && setting_.random.chance(500)) {
    setting_.coverage.count("fault", "failed batch found");
    log_.store(*in_limbo_);
  }
  in_limbo_.reset();
  failed_ = false;
  appending_ = Appending::idle;
  visible_ = log_.last();
}

}  // namespace parley::sim
