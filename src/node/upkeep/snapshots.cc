// SPDX-License-Identifier: Apache-2.0
#include "node/upkeep/snapshots.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace parley::node {

namespace {

using base::Error;
using base::Seq;

// A second machine that follows the journal from the older snapshot on: the loop goes on meanwhile,
// for which encoding the state of a million messages would be a pause of half a second.
std::expected<core::Machine, Error> replay(std::optional<journal::Snapshot> older, Seq upto,
                                           const journal::ReadRecords& read, uint64_t hash_seed) {
  core::Machine machine(hash_seed);
  if (older) {
    auto restored = core::Machine::restore(older->state, hash_seed);
    if (!restored) {
      return restored;
    }
    machine = std::move(*restored);
    older.reset();  // its bytes are many
  }
  std::expected<void, Error> applied;
  std::vector<core::Effect> effects;
  const auto done = read(machine.seq(), upto, [&](const journal::Record& record) {
    const auto entry = core::decode_entry(record.seq, record.time, record.payload);
    if (applied && !entry) {
      applied = std::unexpected(entry.error());
    }
    if (applied) {
      effects.clear();
      (void)machine.apply(*entry, effects);
    }
  });
  if (!done || !applied) {
    return std::unexpected(!done ? done.error() : applied.error());
  }
  CHECK(machine.seq() == upto);
  return machine;
}

// What a start does with a snapshot; on the thread that stores it, with memory for a second
// machine.
std::expected<void, Error> check_snapshot(const journal::Snapshot& snapshot, uint64_t hash_seed) {
  const auto restored = core::Machine::restore(snapshot.state, hash_seed);
  if (restored && restored->seq() == snapshot.seq) {
    return {};
  }
  return std::unexpected(
      Error{base::Code::malformed_record,
            "the state at entry " + std::to_string(snapshot.seq.n) +
                " cannot be restored from its snapshot, so the older snapshot and the records "
                "since then are kept; please report this, with the journal if you can",
            {}});
}

}  // namespace

Snapshots::Snapshots(journal::Journal& journal, Options options)
    : journal_(journal), options_(std::move(options)) {}

std::expected<core::Machine, Error> Snapshots::restore() {
  auto snapshot = journal_.load();
  if (!snapshot) {
    return std::unexpected(snapshot.error());
  }
  if (!snapshot->has_value()) {
    return core::Machine(options_.hash_seed);
  }
  auto restored = core::Machine::restore((*snapshot)->state, options_.hash_seed);
  if (restored) {
    CHECK(restored->seq() == (*snapshot)->seq);
    bytes_ = (*snapshot)->state.size();
  }
  return restored;
}

std::expected<void, Error> Snapshots::keep(Seq seq) {
  note_stored();
  const bool wanted = bytes_since_ >= std::max(options_.bytes_min, 4 * bytes_) ||
                      (std::exchange(hurried_, false) && (bytes_since_ > 0 || trouble_));
  if (due_ == Seq{} && saving_ == Seq{} && wanted) {
    due_ = seq;
    bytes_since_ = 0;
  }
  if (due_ == Seq{} || (options_.view_position && options_.view_position() < due_)) {
    return {};
  }
  auto saved = save();
  note_stored();
  return saved;
}

std::expected<void, Error> Snapshots::save() {
  saving_ = std::exchange(due_, Seq{});
  made_ = std::make_shared<Made>();
  journal::Snapshot snapshot{.seq = saving_, .state = {}};
  snapshot.make = [upto = saving_, seed = options_.hash_seed, made = made_](
                      std::optional<journal::Snapshot> older,
                      const journal::ReadRecords& read) -> std::expected<std::string, Error> {
    const auto machine = replay(std::move(older), upto, read, seed);
    if (!machine) {
      return std::unexpected(machine.error());
    }
    made->live = machine->live();
    std::string state = machine->snapshot();
    made->bytes = state.size();
    return state;
  };
  snapshot.check = [seed = options_.hash_seed](const journal::Snapshot& made) {
    return check_snapshot(made, seed);
  };
  auto saved = journal_.save(std::move(snapshot));
  if (!saved) {
    saving_ = {};
  }
  return saved;
}

void Snapshots::note_stored() {
  if (auto failure = journal_.take_save_failure()) {
    if (options_.warn) {
      options_.warn(*failure);
    }
    trouble_ = std::move(failure);
    saving_ = {};
  }
  // What lived then, not what lives now: a power loss may take back what was not synced since.
  if (saving_ != Seq{} && journal_.snapshot_seq() == saving_) {
    trouble_.reset();
    bytes_ = made_->bytes;
    journal_.trim(saving_, std::move(made_->live));
    saving_ = {};
  }
}

}  // namespace parley::node
