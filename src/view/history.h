// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/sqlite.h"
#include "view/facts.h"

namespace parley::view {

// One record of the journal, as the history is given it.
using VisitRecord = std::function<void(Seq seq, Time time, std::string_view payload)>;

// The look-up by id is in buckets of neighbouring places: ids are random, and one index over all of
// them would make each insert touch another page, ever more of which are not in memory. Whoever
// looks for an id asks one bucket after the other.
int64_t id_bucket(Seq seq);
int64_t id_key(int64_t bucket, const base::MessageId& id);

// The tables of messages, deliveries and dead letters, in one SQLite file: what was, after it left
// the engine. Writes them; Reader asks. One thread.
//
// The position, the last entry that is folded in, is committed with the rows, so the two agree
// whenever the process ends.
class History {
 public:
  struct Start {
    std::string path;
    Seq first;         // facts of entries up to this one can no longer be had: the snapshot's place
    Seq journal_last;  // the journal ends here
  };

  // What opening found and did; for the log. Empty texts: nothing.
  struct Report {
    std::string set_aside;  // where a damaged file, or one of another version, is now, and why
    Seq missing_from;       // entries that are in no table; 0 when none are missing
    Seq missing_upto;
    uint64_t removed = 0;   // messages that the journal lost with the power, so they never were
  };

  // Opens or makes the file. A file that is damaged or of another version is renamed and a new one
  // is made, which begins after `first`.
  static std::expected<History, Error> open(const Start& start);

  const Report& report() const { return report_; }
  Seq position() const { return position_; }

  // Gives a visitor the records after the position, up to and with `upto`.
  using ReadRecords = std::function<std::expected<void, Error>(
      Seq after, Seq upto, const VisitRecord& visit)>;

  // Folds in the facts of entries after the position up to `upto`, all in one transaction. On
  // error nothing of them is in.
  std::expected<void, Error> fold(const Facts& facts, Seq upto, const ReadRecords& read);

  // Makes durable what was folded in. False when a reader was in the way: try again later.
  std::expected<bool, Error> make_durable();

  // Removes up to `messages_max` messages older than `before`, with what belongs to them. Returns
  // how many there were.
  std::expected<size_t, Error> forget(Time before, size_t messages_max);

  // True once a page turned out to be damaged: the next open sets the file aside.
  bool is_damaged() const { return damaged_; }

  static constexpr int64_t schema_version = 4;

 private:
  // Where a delivery stands after all facts, to be written once.
  struct Standing {
    core::State state = core::State::queued;
    Time time;
    uint16_t attempts = Fact::attempts_unknown;  // then as it was
    std::optional<std::string_view> error;       // none: as it was
    std::optional<Time> offered;                 // when it was first handed out; none: as it was
  };
  using Standings = std::map<std::pair<Seq, int64_t>, Standing>;

  History() = default;

  lib::DatabaseResult<void> prepare();
  std::expected<void, Error> begin_at(const Start& start);
  lib::DatabaseResult<void> remove_after(Seq last);
  lib::DatabaseResult<void> write(const Facts& facts, Seq upto, const ReadRecords& read,
                                  std::optional<Error>& unreadable);
  lib::DatabaseResult<void> write_message(WorkspaceId workspace, Seq seq, Time time,
                                          std::string_view payload);
  lib::DatabaseResult<void> write_letter(const Facts& facts, const Fact& fact);
  lib::DatabaseResult<void> write_standings(const Standings& standings);
  lib::DatabaseResult<void> write_position(Seq position);
  lib::DatabaseResult<void> collect(const Facts& facts, const Fact& fact, Standings& standings);
  lib::DatabaseResult<int64_t> principal(WorkspaceId workspace, std::string_view name);
  Error failed(const lib::DatabaseError& error);

  std::string path_;
  lib::Database database_;
  lib::Statement add_message_;
  lib::Statement add_delivery_;
  lib::Statement add_letter_;
  lib::Statement resolve_letter_;
  lib::Statement find_principal_;
  lib::Statement add_principal_;
  lib::Statement set_position_;
  lib::Statement last_before_;
  std::unordered_map<std::string, int64_t> principals_;  // by workspace and name; bounded
  std::string key_;
  std::string receivers_;
  Report report_;
  Seq position_;
  bool damaged_ = false;
};

}  // namespace parley::view
