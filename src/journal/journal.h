// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"

namespace parley::journal {

using base::Error;
using base::Seq;
using base::Time;

// One record as it is read back. `payload` is valid only during the call that hands it out.
struct Record {
  Seq seq;
  Time time;
  std::string_view payload;
};

// Hands out the records after `after` up to and with `upto`, in order, without a gap.
using ReadRecords = std::function<std::expected<void, Error>(
    Seq after, Seq upto, const std::function<void(const Record&)>& visit)>;

// The state of a machine after the record `seq`, as opaque bytes; empty until `make` has made it.
struct Snapshot {
  Seq seq;
  std::string state;
  // Makes the state of the newest snapshot that is stored, if there is one, and of the records
  // since then. Called before it is stored, on the thread that stores it. None: the state is there.
  std::function<std::expected<std::string, Error>(std::optional<Snapshot> older,
                                                  const ReadRecords& read)>
      make = {};
  // Whether the state can be restored: called after `make`, on the same thread. What fails is not
  // stored. None: it is stored as it is.
  std::function<std::expected<void, Error>(const Snapshot&)> check = {};

  // Makes the state and checks it, where `make` and `check` are there. Before it is stored.
  std::expected<void, Error> complete(std::optional<Snapshot> older, const ReadRecords& read) {
    if (make) {
      auto made = make(std::move(older), read);
      if (!made) {
        return std::unexpected(made.error());
      }
      state = std::move(*made);
    }
    return check ? check(*this) : std::expected<void, Error>{};
  }
};

// What became of a record that was asked for.
struct Fetched {
  Seq seq;
  std::expected<std::string, Error> payload;
};

// Whether the batch must be on disk before it counts as appended.
enum class Sync : uint8_t { yes, no };

// What became of the batch that was appended last.
enum class Appending : uint8_t {
  idle,     // there is none, or it is in the journal and can be read
  pending,  // not known yet; ask again
  lost,     // the answer was lost: it may be in the journal, or not, or get there later
};

// Durable, ordered records: the only source of order and of time. Record n+1 never has a smaller
// time than record n. Several processes may share one journal, where the implementation says so;
// then each reads the records of all, in the same order.
//
// One thread calls it. Nothing blocks longer than one write and one sync.
class Journal {
 public:
  virtual ~Journal() = default;

  // Starts to append the payloads in this order, all or none of them durable before any is read.
  // While `appending()` is `pending` their bytes must stay as they are, and this not be called. On
  // error nothing was appended and nothing will be, and `appending()` is what it was; with one
  // exception: after `storage_failed` a restart may still find the batch.
  virtual std::expected<void, Error> append(std::span<const std::string_view> payloads,
                                            Sync sync) = 0;

  virtual Appending appending() = 0;

  // Waits until nothing is pending, where that takes no longer than a write and a sync; a journal
  // where it takes longer returns at once, and keeps a copy of what is pending.
  virtual void wait() {}

  // Calls `visit` for the records after `after`, in order, without a gap, until there is none or
  // about `bytes_max` were handed out (at least one record, if there is one). Records up to a
  // trimmed place are gone: asking for them is an error.
  virtual std::expected<void, Error> read(Seq after, size_t bytes_max,
                                          const std::function<void(const Record&)>& visit) = 0;

  // The payload of one record that is not trimmed, or was kept by `trim`.
  virtual std::expected<std::string, Error> fetch(Seq seq) = 0;

  // Asks for records as `fetch` does, without waiting for the disk where the implementation has a
  // thread for that; `take_fetched` has them, in the order in which they were asked for.
  virtual void fetch_later(const std::vector<Seq>& seqs) {
    for (const Seq seq : seqs) {
      fetched_.push_back({seq, fetch(seq)});
    }
  }
  virtual bool has_fetched() { return !fetched_.empty(); }
  virtual std::vector<Fetched> take_fetched() { return std::exchange(fetched_, {}); }

  // How long callers have waited for writes and syncs, in all.
  virtual base::Duration stored_for() const { return {}; }

  // The newest record that can be read; 0 when there is none.
  virtual Seq last() = 0;

  // Starts to store `snapshot` in place of older ones; it counts once `snapshot_seq()` says so.
  // A failure after that leaves the older one as it was; `take_save_failure` tells it.
  virtual std::expected<void, Error> save(Snapshot snapshot) = 0;

  // Why a snapshot that was given to `save` is not stored and will not be; each failure once.
  virtual std::optional<Error> take_save_failure() = 0;

  // The newest snapshot that is stored durably; 0 when there is none.
  virtual Seq snapshot_seq() = 0;

  // The newest snapshot, if there is one.
  virtual std::expected<std::optional<Snapshot>, Error> load() = 0;

  // Says that of the records up to `upto` only those in `keep` (ascending) are still needed, for
  // `fetch`. The journal gives their space back when it is worth it, in its own time. `upto`
  // must not be beyond `snapshot_seq()`.
  virtual void trim(Seq upto, std::vector<Seq> keep) = 0;

 private:
  std::vector<Fetched> fetched_;
};

}  // namespace parley::journal
