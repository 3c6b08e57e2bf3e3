// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace parley::lib {

// A wall around SQLite: connections and prepared statements that close themselves, and failures
// as values. A connection and its statements belong to one thread at a time.

struct DatabaseError {
  enum class Kind : uint8_t {
    busy,     // another connection had the lock for longer than the timeout
    full,     // no space on the disk
    damaged,  // the file is not a database, or not a whole one
    failed,   // anything else
  };
  Kind kind = Kind::failed;
  std::string detail;

  // As unavailable, storage_full or storage_failed.
  base::Error as_error() const;
};

template <class T>
using DatabaseResult = std::expected<T, DatabaseError>;

// One prepared statement. Texts and blobs are not copied: they must live until the step. The
// database outlives it.
class Statement {
 public:
  Statement() = default;

  // Parameters count from 1.
  Statement& bind(int at, int64_t value);
  Statement& bind(int at, std::string_view text);
  Statement& bind_blob(int at, std::string_view bytes);
  Statement& bind_null(int at);

  // True when there is a row; false when it is done, and then it can be bound and run anew.
  DatabaseResult<bool> step();

  // Steps to the end, for what returns no row.
  DatabaseResult<void> run();

  // Ends a run before its last row. Does no harm after the last.
  void reset();

  // Columns count from 0. Views are good until the next step or reset.
  int64_t integer(int column) const;
  std::string_view text(int column) const;
  std::string_view blob(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Mode : uint8_t { read_only, read_write };  // the second makes the file

  // Opens the file, with a write-ahead log when it may write.
  static DatabaseResult<Database> open(const std::string& path, Mode mode);

  // Runs statements that return nothing.
  DatabaseResult<void> run(const std::string& sql);
  // One that is kept and used often.
  DatabaseResult<Statement> prepare(std::string_view sql);
  // The first column of the first row, for questions about the database itself.
  DatabaseResult<int64_t> integer(std::string_view sql);

  // Rows that the last statement inserted, changed or removed.
  int64_t changes() const;

  // Brings the write-ahead log into the file and makes it durable. `whole` is false when readers
  // were in the way of a part.
  struct Checkpoint {
    bool whole = false;
  };
  DatabaseResult<Checkpoint> checkpoint();

 private:
  void give_back_log();

  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace parley::lib
