// SPDX-License-Identifier: Apache-2.0
#include "lib/sqlite.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace parley::lib {
namespace {

struct Directory {
  std::string path = ::testing::TempDir() + "parley-sqlite-XXXXXX";
  Directory() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Directory() { std::filesystem::remove_all(path); }
};

TEST(Sqlite, KeepsEveryKindOfValue) {
  const Directory directory;
  auto database = Database::open(directory.path + "/a.db", Database::Mode::read_write);
  ASSERT_TRUE(database) << database.error().detail;
  ASSERT_TRUE(database->run("CREATE TABLE t (a INTEGER, b TEXT, c BLOB, d TEXT)"));
  auto insert = database->prepare("INSERT INTO t VALUES (?,?,?,?)");
  ASSERT_TRUE(insert);
  const std::string zeros("\0x\0", 3);
  ASSERT_TRUE(insert->bind(1, INT64_MIN)
                  .bind(2, std::string_view{})
                  .bind_blob(3, zeros)
                  .bind_null(4)
                  .run());
  EXPECT_EQ(database->changes(), 1);
  auto select = database->prepare("SELECT a, b, c, d FROM t");
  ASSERT_TRUE(select);
  const auto row = select->step();
  ASSERT_TRUE(row && *row);
  EXPECT_EQ(select->integer(0), INT64_MIN);
  EXPECT_EQ(select->text(1), "");
  EXPECT_FALSE(select->is_null(1));
  EXPECT_EQ(select->blob(2), zeros);
  EXPECT_TRUE(select->is_null(3));
  const auto end = select->step();
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);
}

TEST(Sqlite, ReadOnlyConnectionSeesCommitsAndCannotWrite) {
  const Directory directory;
  const std::string path = directory.path + "/a.db";
  auto writer = Database::open(path, Database::Mode::read_write);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->run("CREATE TABLE t (a INTEGER)"));
  auto reader = Database::open(path, Database::Mode::read_only);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(writer->run("BEGIN; INSERT INTO t VALUES (1)"));
  EXPECT_EQ(reader->integer("SELECT count(*) FROM t").value(), 0);
  ASSERT_TRUE(writer->run("COMMIT"));
  EXPECT_EQ(reader->integer("SELECT count(*) FROM t").value(), 1);
  EXPECT_FALSE(reader->run("INSERT INTO t VALUES (2)"));
}

TEST(Sqlite, CheckpointIsNotWholeWhileAReaderHoldsAnOlderState) {
  const Directory directory;
  const std::string path = directory.path + "/a.db";
  auto writer = Database::open(path, Database::Mode::read_write);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->run("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)"));
  auto reader = Database::open(path, Database::Mode::read_only);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->run("BEGIN; SELECT * FROM t"));
  ASSERT_TRUE(writer->run("INSERT INTO t VALUES (2)"));
  const auto hindered = writer->checkpoint();
  ASSERT_TRUE(hindered);
  EXPECT_FALSE(hindered->whole);
  ASSERT_TRUE(reader->run("COMMIT"));
  const auto free = writer->checkpoint();
  ASSERT_TRUE(free);
  EXPECT_TRUE(free->whole);
}

TEST(Sqlite, CheckpointGivesBackALargeLogOnceNoReaderIsInTheWay) {
  const Directory directory;
  const std::string path = directory.path + "/a.db";
  const auto log_bytes = [&path] { return std::filesystem::file_size(path + "-wal"); };
  auto writer = Database::open(path, Database::Mode::read_write);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->run("CREATE TABLE t (a BLOB); INSERT INTO t VALUES (1)"));
  ASSERT_TRUE(writer->checkpoint());
  EXPECT_GT(log_bytes(), 0u);  // what is small is used again
  ASSERT_TRUE(writer->run("INSERT INTO t VALUES (zeroblob(16000000))"));
  auto reader = Database::open(path, Database::Mode::read_only);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->run("BEGIN; SELECT count(*) FROM t"));
  ASSERT_TRUE(writer->checkpoint()->whole);
  EXPECT_GT(log_bytes(), 16'000'000u);
  ASSERT_TRUE(reader->run("COMMIT"));
  ASSERT_TRUE(writer->checkpoint()->whole);
  EXPECT_EQ(log_bytes(), 0u);
  ASSERT_TRUE(writer->run("INSERT INTO t VALUES (2)"));
  EXPECT_EQ(reader->integer("SELECT count(*) FROM t").value(), 3);
}

TEST(Sqlite, SaysWhatIsWrong) {
  const Directory directory;
  const std::string path = directory.path + "/a.db";
  std::ofstream(path) << std::string(10'000, 'x');
  const auto damaged = Database::open(path, Database::Mode::read_write);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, DatabaseError::Kind::damaged);
  EXPECT_NE(damaged.error().detail.find(path), std::string::npos) << damaged.error().detail;
  const auto missing = Database::open(directory.path + "/no/a.db", Database::Mode::read_write);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().as_error().code, base::Code::storage_failed);
  auto good = Database::open(directory.path + "/b.db", Database::Mode::read_write);
  ASSERT_TRUE(good);
  EXPECT_FALSE(good->prepare("SELECT nonsense"));
  ASSERT_TRUE(good->run("PRAGMA max_page_count=2; CREATE TABLE t (a BLOB)"));
  const auto full = good->run("INSERT INTO t VALUES (zeroblob(100000))");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().as_error().code, base::Code::storage_full);
}

}  // namespace
}  // namespace parley::lib
