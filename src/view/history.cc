// SPDX-License-Identifier: Apache-2.0
#include "view/history.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/hash.h"

namespace parley::view {

namespace {

using lib::Database;
using lib::DatabaseError;
using lib::DatabaseResult;
using lib::Statement;

constexpr int64_t application_id = 0x70726c79;  // `prly`
constexpr size_t principals_max = 100'000;
constexpr int aside_max = 1'000;

// A message's place is its key, so rows go to the end of the table. Principals are numbers, so
// that the look-ups by sender and receiver are small. Time never goes back as places go up: a
// range of time is a range of places and needs no index. A trace mostly begins with its message and
// has that one's id, so only those that go on with another's are in its look-up.
constexpr const char* schema = R"(
CREATE TABLE principals (
  id INTEGER PRIMARY KEY, workspace INTEGER NOT NULL, name TEXT NOT NULL,
  UNIQUE (workspace, name));
CREATE TABLE messages (
  seq INTEGER PRIMARY KEY, workspace INTEGER NOT NULL, id BLOB NOT NULL, sender INTEGER NOT NULL,
  receivers TEXT NOT NULL, kind INTEGER NOT NULL, type TEXT NOT NULL, dialect INTEGER NOT NULL,
  priority INTEGER NOT NULL, thread TEXT NOT NULL, correlation TEXT NOT NULL,
  in_reply_to BLOB, time INTEGER NOT NULL, bytes INTEGER NOT NULL, record BLOB NOT NULL,
  id_key INTEGER NOT NULL, native_id TEXT NOT NULL, trace_key INTEGER);
CREATE INDEX messages_by_id ON messages (id_key);
CREATE INDEX messages_by_native_id ON messages (native_id, workspace) WHERE native_id <> '';
CREATE INDEX messages_by_sender ON messages (sender);
CREATE INDEX messages_by_thread ON messages (thread, workspace) WHERE thread <> '';
CREATE INDEX messages_by_correlation ON messages (correlation, workspace) WHERE correlation <> '';
CREATE INDEX messages_by_trace ON messages (trace_key) WHERE trace_key IS NOT NULL;
CREATE TABLE deliveries (
  message INTEGER NOT NULL, receiver INTEGER NOT NULL, state INTEGER NOT NULL,
  time INTEGER NOT NULL, attempts INTEGER NOT NULL, last_error TEXT NOT NULL, offered INTEGER,
  PRIMARY KEY (message, receiver)) WITHOUT ROWID;
CREATE INDEX deliveries_by_receiver ON deliveries (receiver, message);
CREATE TABLE dead_letters (
  workspace INTEGER NOT NULL, id INTEGER NOT NULL, entry INTEGER NOT NULL,
  message INTEGER NOT NULL, receiver INTEGER NOT NULL, reason INTEGER NOT NULL,
  failed_at INTEGER NOT NULL, retry_count INTEGER NOT NULL, last_error TEXT NOT NULL,
  resolution INTEGER NOT NULL DEFAULT 0, dropped INTEGER NOT NULL DEFAULT 0,
  resolved_by TEXT NOT NULL DEFAULT '', resolved_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace, id)) WITHOUT ROWID;
CREATE INDEX dead_letters_by_message ON dead_letters (message);
CREATE TABLE position (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL);
INSERT INTO position VALUES (1, 0);
)";

int64_t number(Seq seq) { return static_cast<int64_t>(seq.n); }
int64_t number(WorkspaceId workspace) { return static_cast<int64_t>(workspace); }

std::string_view bytes_of(const base::Id128& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

std::string marker_of(const std::string& path) { return path + "-damaged"; }

std::unexpected<DatabaseError> unfit(std::string why) {
  return std::unexpected(DatabaseError{DatabaseError::Kind::damaged, std::move(why)});
}

// A database of ours with the right tables, made where there was none. `damaged` when it cannot
// serve and must be set aside.
DatabaseResult<Database> open_checked(const std::string& path) {
  if (std::filesystem::exists(marker_of(path))) {
    return unfit("it was found damaged while it was used");
  }
  auto database = Database::open(path, Database::Mode::read_write);
  if (!database) {
    return std::unexpected(database.error());
  }
  const auto tables = database->integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) {
    return std::unexpected(tables.error());
  }
  if (*tables == 0) {
    const auto made = database->run(
        "BEGIN IMMEDIATE;" + std::string(schema) +
        "PRAGMA application_id=" + std::to_string(application_id) +
        ";PRAGMA user_version=" + std::to_string(History::schema_version) + ";COMMIT");
    if (!made) {
      return std::unexpected(made.error());
    }
  }
  const auto ours = database->integer("PRAGMA application_id");
  const auto version = database->integer("PRAGMA user_version");
  if (!ours || !version) {
    return std::unexpected(!ours ? ours.error() : version.error());
  }
  if (*ours != application_id || *version != History::schema_version) {
    return unfit("it has version " + std::to_string(*version) + ", not " +
                 std::to_string(History::schema_version));
  }
  const auto position = database->integer("SELECT count(*) FROM position");
  if (!position) {
    return std::unexpected(position.error());
  }
  if (*position != 1) {
    return unfit("it has no position");
  }
  return database;
}

// Renames the file and what belongs to it; returns the new name.
std::expected<std::string, Error> set_aside(const std::string& path) {
  std::error_code error;
  for (int n = 1; n <= aside_max; ++n) {
    const std::string aside = path + ".aside-" + std::to_string(n);
    if (std::filesystem::exists(aside)) {
      continue;
    }
    // The log first: a database without its log is a whole older one, a log alone is nothing.
    for (const char* suffix : {"-wal", ""}) {
      if (std::filesystem::exists(path + suffix)) {
        std::filesystem::rename(path + suffix, aside + suffix, error);
      }
      if (error) {
        break;
      }
    }
    std::error_code ignored;
    std::filesystem::remove(path + "-shm", ignored);
    std::filesystem::remove(marker_of(path), ignored);
    if (!error) {
      return aside;
    }
    break;
  }
  return std::unexpected(Error{
      base::Code::storage_failed,
      "cannot set " + path + " aside: " + (error ? error.message() : "too many are there already") +
          "; move it away",
      {}});
}

core::State state_for(core::Reason reason) {
  switch (reason) {
    case core::Reason::ttl_expired:
      return core::State::expired;
    case core::Reason::rejected:
      return core::State::rejected;
    case core::Reason::receiver_not_found:
    case core::Reason::receiver_unavailable:
    case core::Reason::malformed:
    case core::Reason::queue_overflow:
      return core::State::dead;
  }
  return core::State::dead;
}

bool is_dead_letter(core::State state) { return state >= core::State::expired; }

}  // namespace

int64_t id_bucket(Seq seq) { return static_cast<int64_t>(seq.n >> 17); }

int64_t id_key(int64_t bucket, const base::MessageId& id) {
  constexpr int hash_bits = 40;
  // The bucket is above the hash, so that the keys of one bucket are neighbours in the index.
  const uint64_t hash = base::hash64(bytes_of(id)) >> (64 - hash_bits);
  return (bucket << hash_bits) | static_cast<int64_t>(hash);
}

std::expected<History, Error> History::open(const Start& start) {
  History history;
  history.path_ = start.path;
  auto opened = open_checked(start.path);
  if (!opened && opened.error().kind == DatabaseError::Kind::damaged) {
    const auto aside = set_aside(start.path);
    if (!aside) {
      return std::unexpected(aside.error());
    }
    history.report_.set_aside = *aside + ": " + opened.error().detail;
    opened = open_checked(start.path);
  }
  if (!opened) {
    return std::unexpected(opened.error().as_error());
  }
  history.database_ = std::move(*opened);
  if (auto prepared = history.prepare(); !prepared) {
    return std::unexpected(history.failed(prepared.error()));
  }
  if (auto begun = history.begin_at(start); !begun) {
    return std::unexpected(begun.error());
  }
  return history;
}

DatabaseResult<void> History::prepare() {
  if (auto set = database_.run("PRAGMA cache_size=-16384"); !set) {
    return set;
  }
  const std::pair<Statement*, std::string_view> wanted[] = {
      {&add_message_, "INSERT INTO messages VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      // What is not known now stays as it was.
      {&add_delivery_,
       "INSERT INTO deliveries VALUES (?1,?2,?3,?4,COALESCE(?5,0),COALESCE(?6,''),?7) "
       "ON CONFLICT DO UPDATE SET state=?3, time=?4, attempts=COALESCE(?5,attempts), "
       "last_error=COALESCE(?6,last_error), offered=COALESCE(offered,?7)"},
      {&add_letter_,
       "INSERT OR REPLACE INTO dead_letters (workspace, id, entry, message, receiver, reason, "
       "failed_at, retry_count, last_error) VALUES (?,?,?,?,?,?,?,?,?)"},
      // A letter that was resolved stays so when it is dropped later.
      {&resolve_letter_,
       "UPDATE dead_letters SET resolution=?3, dropped=?4, resolved_by=?5, resolved_at=?6 "
       "WHERE workspace=?1 AND id=?2 AND (resolution=0 OR ?4=0)"},
      {&find_principal_, "SELECT id FROM principals WHERE workspace=? AND name=?"},
      {&add_principal_, "INSERT INTO principals (workspace, name) VALUES (?,?) RETURNING id"},
      {&set_position_, "UPDATE position SET seq=?"},
      {&last_before_, "SELECT seq, time FROM messages ORDER BY seq LIMIT ?"},
  };
  for (const auto& [statement, sql] : wanted) {
    auto prepared = database_.prepare(sql);
    if (!prepared) {
      return std::unexpected(prepared.error());
    }
    *statement = std::move(*prepared);
  }
  return {};
}

std::expected<void, Error> History::begin_at(const Start& start) {
  const auto stored = database_.integer("SELECT seq FROM position");
  if (!stored) {
    return std::unexpected(failed(stored.error()));
  }
  position_ = Seq{static_cast<uint64_t>(*stored)};
  const Seq before = position_;
  if (position_ > start.journal_last) {
    if (auto removed = remove_after(start.journal_last); !removed) {
      return std::unexpected(failed(removed.error()));
    }
    position_ = start.journal_last;
  }
  if (position_ < start.first) {
    report_.missing_from = position_.next();
    report_.missing_upto = start.first;
    position_ = start.first;
  }
  if (position_ != before) {
    if (auto written = write_position(position_); !written) {
      return std::unexpected(failed(written.error()));
    }
  }
  return {};
}

// What the journal has lost was never promised, and its places will be given to others.
DatabaseResult<void> History::remove_after(Seq last) {
  const std::string after = " > " + std::to_string(last.n) + ";";
  const auto count = database_.integer("SELECT count(*) FROM messages WHERE seq" + after);
  if (!count) {
    return std::unexpected(count.error());
  }
  report_.removed = static_cast<uint64_t>(*count);
  auto removed = database_.run("BEGIN IMMEDIATE; DELETE FROM messages WHERE seq" + after +
                               "DELETE FROM deliveries WHERE message" + after +
                               "DELETE FROM dead_letters WHERE entry" + after +
                               "UPDATE position SET seq=" + std::to_string(last.n) + "; COMMIT");
  if (!removed) {
    (void)database_.run("ROLLBACK");
  }
  return removed;
}

std::expected<void, Error> History::fold(const Facts& facts, Seq upto, const ReadRecords& read) {
  CHECK(upto >= position_);
  std::optional<Error> unreadable;
  auto done = database_.run("BEGIN IMMEDIATE");
  if (!done) {
    return std::unexpected(failed(done.error()));
  }
  done = write(facts, upto, read, unreadable);
  if (done && !unreadable) {
    done = database_.run("COMMIT");
  }
  if (done && !unreadable) {
    position_ = upto;
    return {};
  }
  (void)database_.run("ROLLBACK");
  principals_.clear();  // those that were added in this transaction are gone
  return std::unexpected(unreadable ? *unreadable : failed(done.error()));
}

DatabaseResult<void> History::write(const Facts& facts, Seq upto, const ReadRecords& read,
                                    std::optional<Error>& unreadable) {
  DatabaseResult<void> done;
  Standings standings;
  std::vector<const Fact*> sent;
  const std::vector<Fact> all = facts.all();
  for (const Fact& fact : all) {
    CHECK(fact.entry > position_ && fact.entry <= upto);
    if (fact.kind == Fact::Kind::sent) {
      sent.push_back(&fact);
    } else {
      done = collect(facts, fact, standings);
    }
    if (!done) {
      return done;
    }
  }
  if (!sent.empty()) {
    auto next = sent.begin();
    const auto got = read(Seq{sent.front()->message.n - 1}, sent.back()->message,
                          [&](Seq seq, Time time, std::string_view payload) {
                            // It cannot end the reading: after a failure it does nothing more.
                            if (done && next != sent.end() && (*next)->message == seq) {
                              done = write_message((*next)->workspace, seq, time, payload);
                              ++next;
                            }
                          });
    if (!got) {
      unreadable = got.error();
    }
    if (!done || !got) {
      return done;
    }
    CHECK(next == sent.end());
  }
  if (done = write_standings(standings); !done) {
    return done;
  }
  return write_position(upto);
}

DatabaseResult<void> History::collect(const Facts& facts, const Fact& fact, Standings& standings) {
  if (fact.kind == Fact::Kind::resolved || fact.kind == Fact::Kind::dropped) {
    return write_letter(facts, fact);
  }
  const auto receiver = principal(fact.workspace, facts.text(fact.name));
  if (!receiver) {
    return std::unexpected(receiver.error());
  }
  Standing& standing = standings[{fact.message, *receiver}];
  standing.time = fact.time;
  if (fact.kind == Fact::Kind::dead_letter) {
    standing.state = state_for(fact.reason());
    standing.error = facts.text(fact.error);
    standing.attempts = fact.attempts;
    return write_letter(facts, fact);
  }
  standing.state = fact.state();
  if (core::is_held(fact.state()) && !standing.offered) {
    standing.offered = fact.time;
  }
  if (fact.attempts != Fact::attempts_unknown) {
    standing.attempts = fact.attempts;
  }
  // What went wrong in the end is with the dead letter, told before or after this.
  if (!is_dead_letter(fact.state())) {
    standing.error = facts.text(fact.error);
  }
  return {};
}

DatabaseResult<void> History::write_message(WorkspaceId workspace, Seq seq, Time time,
                                            std::string_view payload) {
  const auto entry = core::decode_entry(seq, time, payload);
  const auto* send = entry ? std::get_if<core::Send>(&entry->command) : nullptr;
  if (send == nullptr) {
    return std::unexpected(DatabaseError{
        DatabaseError::Kind::failed,
        "record " + std::to_string(seq.n) + " is no message, but the machine applied it as one"});
  }
  const core::Envelope& e = send->envelope;
  const auto sender = principal(workspace, e.sender);
  if (!sender) {
    return std::unexpected(sender.error());
  }
  receivers_.clear();
  for (const std::string_view receiver : e.receivers) {
    receivers_.append(receivers_.empty() ? "" : ", ").append(receiver);
  }
  add_message_.bind(1, number(seq))
      .bind(2, number(workspace))
      .bind_blob(3, bytes_of(e.id))
      .bind(4, *sender)
      .bind(5, std::string_view(receivers_))
      .bind(6, static_cast<int64_t>(e.kind))
      .bind(7, e.type)
      .bind(8, static_cast<int64_t>(e.dialect))
      .bind(9, static_cast<int64_t>(e.priority))
      .bind(10, e.thread)
      .bind(11, e.correlation)
      .bind(13, time.us)
      .bind(14, static_cast<int64_t>(e.body.size()))
      .bind_blob(15, payload)
      .bind(16, id_key(id_bucket(seq), e.id))
      .bind(17, e.native_id);
  if (e.trace_id.is_none() || e.trace_id == e.id) {
    add_message_.bind_null(18);
  } else {
    add_message_.bind(18, id_key(id_bucket(seq), e.trace_id));
  }
  if (e.in_reply_to.is_none()) {
    add_message_.bind_null(12);
  } else {
    add_message_.bind_blob(12, bytes_of(e.in_reply_to));
  }
  return add_message_.run();
}

DatabaseResult<void> History::write_letter(const Facts& facts, const Fact& fact) {
  if (fact.kind != Fact::Kind::dead_letter) {
    const bool dropped = fact.kind == Fact::Kind::dropped;
    resolve_letter_.bind(1, number(fact.workspace))
        .bind(2, static_cast<int64_t>(fact.letter))
        .bind(3, int64_t{dropped ? uint8_t{0} : fact.word})
        .bind(4, int64_t{dropped})
        .bind(5, facts.text(fact.name))
        .bind(6, fact.time.us);
    return resolve_letter_.run();
  }
  const auto receiver = principal(fact.workspace, facts.text(fact.name));
  if (!receiver) {
    return std::unexpected(receiver.error());
  }
  const bool tried = fact.attempts != Fact::attempts_unknown;
  add_letter_.bind(1, number(fact.workspace))
      .bind(2, static_cast<int64_t>(fact.letter))
      .bind(3, number(fact.entry))
      .bind(4, number(fact.message))
      .bind(5, *receiver)
      .bind(6, int64_t{fact.word})
      .bind(7, fact.time.us)
      .bind(8, int64_t{tried ? fact.attempts : uint16_t{0}})
      .bind(9, facts.text(fact.error));
  return add_letter_.run();
}

DatabaseResult<void> History::write_standings(const Standings& standings) {
  for (const auto& [key, standing] : standings) {
    add_delivery_.bind(1, number(key.first))
        .bind(2, key.second)
        .bind(3, static_cast<int64_t>(standing.state))
        .bind(4, standing.time.us);
    if (standing.attempts == Fact::attempts_unknown) {
      add_delivery_.bind_null(5);
    } else {
      add_delivery_.bind(5, int64_t{standing.attempts});
    }
    if (standing.error) {
      add_delivery_.bind(6, *standing.error);
    } else {
      add_delivery_.bind_null(6);
    }
    if (standing.offered) {
      add_delivery_.bind(7, standing.offered->us);
    } else {
      add_delivery_.bind_null(7);
    }
    if (auto written = add_delivery_.run(); !written) {
      return written;
    }
  }
  return {};
}

DatabaseResult<void> History::write_position(Seq position) {
  set_position_.bind(1, number(position));
  return set_position_.run();
}

DatabaseResult<int64_t> History::principal(WorkspaceId workspace, std::string_view name) {
  const auto home = static_cast<uint32_t>(workspace);
  key_.assign(reinterpret_cast<const char*>(&home), sizeof home).append(name);
  if (const auto known = principals_.find(key_); known != principals_.end()) {
    return known->second;
  }
  for (Statement* statement : {&find_principal_, &add_principal_}) {
    statement->bind(1, number(workspace)).bind(2, name);
    const auto row = statement->step();
    if (!row) {
      return std::unexpected(row.error());
    }
    if (*row) {
      const int64_t id = statement->integer(0);
      statement->reset();
      // Rare, and cheaper than to know which names were not used for long.
      if (principals_.size() >= principals_max) {
        principals_.clear();
      }
      principals_.emplace(key_, id);
      return id;
    }
  }
  return std::unexpected(DatabaseError{DatabaseError::Kind::failed, "a principal got no number"});
}

std::expected<bool, Error> History::make_durable() {
  const auto done = database_.checkpoint();
  if (!done) {
    return std::unexpected(failed(done.error()));
  }
  return done->whole;
}

std::expected<size_t, Error> History::forget(Time before, size_t messages_max) {
  size_t count = 0;
  Seq last;
  last_before_.bind(1, static_cast<int64_t>(messages_max));
  while (true) {
    const auto row = last_before_.step();
    if (!row) {
      return std::unexpected(failed(row.error()));
    }
    if (!*row || last_before_.integer(1) >= before.us) {
      break;
    }
    last = Seq{static_cast<uint64_t>(last_before_.integer(0))};
    ++count;
  }
  last_before_.reset();
  if (count == 0) {
    return 0;
  }
  const std::string upto = " <= " + std::to_string(last.n) + ";";
  const auto removed = database_.run("BEGIN IMMEDIATE; DELETE FROM messages WHERE seq" + upto +
                                     "DELETE FROM deliveries WHERE message" + upto +
                                     "DELETE FROM dead_letters WHERE message" + upto + "COMMIT");
  if (!removed) {
    (void)database_.run("ROLLBACK");
    return std::unexpected(failed(removed.error()));
  }
  return count;
}

// Damage is remembered beside the file, so that the next start does not trust it.
Error History::failed(const DatabaseError& error) {
  if (error.kind == DatabaseError::Kind::damaged) {
    damaged_ = true;
    std::ofstream(marker_of(path_)) << error.detail << '\n';
  }
  return error.as_error();
}

}  // namespace parley::view
