// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/store_snapshot.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "journal/file/format.h"
#include "journal/file/recovery.h"
#include "journal/file/snapshot_file.h"
#include "journal/follower.h"

namespace parley::journal {

namespace {

// After so many records it is asked whether the journal is being closed.
constexpr uint64_t records_per_read_max = 4'096;

// Makes and checks the state. Reads the records in parts, so that it ends soon when the journal is
// closed.
std::expected<void, Error> complete(Disk& disk, const std::string& directory, Seq older_seq,
                                    Snapshot& snapshot, const std::function<bool()>& is_stopping) {
  if (!snapshot.make) {
    return snapshot.complete({}, {});
  }
  const Error closing{base::Code::unavailable, "the journal is being closed", {}};
  if (is_stopping()) {
    return std::unexpected(closing);
  }
  std::optional<Snapshot> older;
  if (older_seq != Seq{}) {
    auto stored = read_snapshot(disk, directory, older_seq);
    if (!stored) {
      return std::unexpected(stored.error());
    }
    older = std::move(*stored);
  }
  // The records come from the files and not through the journal: that belongs to another thread.
  Follower follower(directory, &disk);
  const auto read = [&](Seq after, Seq upto, const auto& visit) -> std::expected<void, Error> {
    while (after < upto) {
      if (is_stopping()) {
        return std::unexpected(closing);
      }
      const Seq next{std::min(upto.n, after.n + records_per_read_max)};
      if (auto done = follower.read(after, next, visit); !done) {
        return done;
      }
      after = next;
    }
    return {};
  };
  // The check takes as long as the making does, so it is a step of its own.
  const auto check = std::exchange(snapshot.check, {});
  if (auto made = snapshot.complete(std::move(older), read); !made) {
    return made;
  }
  if (is_stopping()) {
    return std::unexpected(closing);
  }
  return check ? check(snapshot) : std::expected<void, Error>{};
}

// Goes by the directory and not by what the archive knows, so that damaged ones that were passed
// over go too. One that cannot be removed takes space and does no harm; the next time it goes.
void remove_others(Disk& disk, const std::string& directory, Seq newest, Seq older) {
  const auto listing = list_journal(disk, directory);
  if (!listing) {
    return;
  }
  for (const Seq seq : listing->snapshots) {
    if (seq != newest && seq != older) {
      disk.remove(directory + "/" + snapshot_name(seq));
    }
  }
}

}  // namespace

std::expected<void, Error> store_snapshot(Disk& disk, const std::string& directory, Seq older,
                                          Snapshot& snapshot,
                                          const std::function<bool()>& is_stopping) {
  // A snapshot that cannot be restored must not replace one that can, nor the records.
  auto done = complete(disk, directory, older, snapshot, is_stopping);
  if (done) {
    done = write_snapshot(disk, directory, snapshot);
  }
  if (done) {
    remove_others(disk, directory, snapshot.seq, older);
  }
  return done;
}

}  // namespace parley::journal
