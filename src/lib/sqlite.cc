// SPDX-License-Identifier: Apache-2.0
#include "lib/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "base/check.h"

namespace parley::lib {

namespace {

constexpr int busy_timeout_ms = 2'000;
constexpr int log_frames_kept = 2'048;  // 8 MiB of pages

std::unexpected<DatabaseError> failure(sqlite3* database, int result) {
  DatabaseError error;
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      error.kind = DatabaseError::Kind::busy;
      break;
    case SQLITE_FULL:
      error.kind = DatabaseError::Kind::full;
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      error.kind = DatabaseError::Kind::damaged;
      break;
    default:
      error.kind = DatabaseError::Kind::failed;
  }
  const char* path = database == nullptr ? nullptr : sqlite3_db_filename(database, nullptr);
  error.detail = path == nullptr ? "database" : path;
  error.detail += ": ";
  error.detail += database == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(database);
  return std::unexpected(std::move(error));
}

std::string_view view_of(const void* data, int size) {
  return size <= 0 ? std::string_view{}
                   : std::string_view(static_cast<const char*>(data), static_cast<size_t>(size));
}

}  // namespace

base::Error DatabaseError::as_error() const {
  switch (kind) {
    case Kind::busy:
      return {base::Code::unavailable, detail, {}};
    case Kind::full:
      return {base::Code::storage_full, detail, {}};
    case Kind::damaged:
    case Kind::failed:
      return {base::Code::storage_failed, detail, {}};
  }
  return {base::Code::storage_failed, detail, {}};
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

// Binding fails only for a parameter that is not there, which is our own mistake, or for a value
// beyond SQLite's limit of 1 GB, which no record reaches.
Statement& Statement::bind(int at, int64_t value) {
  CHECK(sqlite3_bind_int64(statement_.get(), at, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  CHECK(sqlite3_bind_text64(statement_.get(), at, data, text.size(), SQLITE_STATIC, SQLITE_UTF8) ==
        SQLITE_OK);
  return *this;
}

Statement& Statement::bind_blob(int at, std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  CHECK(sqlite3_bind_blob64(statement_.get(), at, data, bytes.size(), SQLITE_STATIC) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind_null(int at) {
  CHECK(sqlite3_bind_null(statement_.get(), at) == SQLITE_OK);
  return *this;
}

DatabaseResult<bool> Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) {
    return true;
  }
  if (result == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  auto failed = failure(sqlite3_db_handle(statement_.get()), result);
  sqlite3_reset(statement_.get());
  return failed;
}

DatabaseResult<void> Statement::run() {
  while (true) {
    const auto row = step();
    if (!row) {
      return std::unexpected(row.error());
    }
    if (!*row) {
      return {};
    }
  }
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::text(int column) const {
  const void* data = sqlite3_column_text(statement_.get(), column);
  return view_of(data, sqlite3_column_bytes(statement_.get(), column));
}

std::string_view Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  return view_of(data, sqlite3_column_bytes(statement_.get(), column));
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

DatabaseResult<Database> Database::open(const std::string& path, Mode mode) {
  // Statistics of memory that nobody reads cost a lock for every allocation. To be said before
  // the library is first used; later it is refused, which does no harm.
  static const int once = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)once;
  const int flags =
      SQLITE_OPEN_NOMUTEX |
      (mode == Mode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database;
  database.database_.reset(raw);
  if (result != SQLITE_OK) {
    return failure(raw, result);
  }
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, busy_timeout_ms);
  if (mode == Mode::read_write) {
    // Checkpoints are the caller's. Until one is done a commit can be lost with the power, never
    // torn.
    const auto set = database.run(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0;"
        "PRAGMA temp_store=MEMORY");
    if (!set) {
      return std::unexpected(set.error());
    }
  }
  return database;
}

DatabaseResult<void> Database::run(const std::string& sql) {
  const int result = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) {
    return failure(database_.get(), result);
  }
  return {};
}

DatabaseResult<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int result = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (result != SQLITE_OK) {
    return failure(database_.get(), result);
  }
  Statement statement;
  statement.statement_.reset(raw);
  return statement;
}

DatabaseResult<int64_t> Database::integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) {
    return std::unexpected(statement.error());
  }
  const auto row = statement->step();
  if (!row) {
    return std::unexpected(row.error());
  }
  return *row ? statement->integer(0) : 0;
}

int64_t Database::changes() const { return sqlite3_changes64(database_.get()); }

DatabaseResult<Database::Checkpoint> Database::checkpoint() {
  int frames = 0;
  int done = 0;
  const int result = sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                               &frames, &done);
  if ((result & 0xff) == SQLITE_BUSY) {
    return Checkpoint{false};
  }
  if (result != SQLITE_OK) {
    return failure(database_.get(), result);
  }
  const bool is_whole = frames == done;
  if (is_whole && frames > log_frames_kept) {
    give_back_log();
  }
  return Checkpoint{is_whole};
}

// All of it is in the file. SQLite would keep its bytes for the next writes, which a full disk
// needs more. With a reader in the way it stays for the next time.
void Database::give_back_log() {
  sqlite3_busy_timeout(database_.get(), 0);
  sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  sqlite3_busy_timeout(database_.get(), busy_timeout_ms);
}

}  // namespace parley::lib
