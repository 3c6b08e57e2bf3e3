// SPDX-License-Identifier: Apache-2.0

// What the file journal does with batches that are synced behind their append, beyond the
// conformance suite: while one is pending, and when storing it fails.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "journal/file/file.h"
#include "journal/file/simulated_disk.h"

namespace parley::journal {
namespace {

using Call = SimulatedDisk::Call;

constexpr size_t no_limit = size_t{1} << 40;
constexpr size_t behind_bytes = 4'096;
const std::string directory = "/j";

// A simulated disk whose syncs, but for those of the test's own thread, wait at a gate.
class GatedDisk final : public Disk {
 public:
  SimulatedDisk inner;

  void close_gate() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void open_gate() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = false;
    }
    changed_.notify_all();
  }
  // Returns once a sync stands at the gate.
  void await_sync() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

  int sync(int fd) override {
    if (std::this_thread::get_id() != owner_) {
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !closed_; });
      --waiting_;
    }
    return inner.sync(fd);
  }

  int open(const std::string& path, OpenMode mode) override { return inner.open(path, mode); }
  void close(int fd) override { inner.close(fd); }
  ssize_t read(int fd, char* to, size_t size, uint64_t at) override {
    return inner.read(fd, to, size, at);
  }
  ssize_t write(int fd, std::string_view bytes, uint64_t at) override {
    return inner.write(fd, bytes, at);
  }
  int64_t size(int fd) override { return inner.size(fd); }
  int reserve(int fd, uint64_t size) override { return inner.reserve(fd, size); }
  int lock(int fd) override { return inner.lock(fd); }
  int rename(const std::string& from, const std::string& to) override {
    return inner.rename(from, to);
  }
  int remove(const std::string& path) override { return inner.remove(path); }
  int make_directory(const std::string& path) override { return inner.make_directory(path); }
  int sync_directory(const std::string& path) override { return inner.sync_directory(path); }
  int list(const std::string& path, std::vector<std::string>& names) override {
    return inner.list(path, names);
  }
  int64_t free_bytes(const std::string& path) override { return inner.free_bytes(path); }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  size_t waiting_ = 0;
};

// A journal on such a disk, and how often it said that a batch is done.
struct Bench {
  GatedDisk disk;
  base::ManualClock clock{Time{1'000}};
  std::atomic<int> told = 0;
  std::vector<std::string> appended;  // the newest batch: its bytes stay while it is pending
  std::unique_ptr<FileJournal> journal;

  Bench() { open(); }
  ~Bench() { disk.open_gate(); }

  void open() {
    journal.reset();
    auto opened = FileJournal::open({directory, 64 << 10, false, &disk}, clock);
    ASSERT_TRUE(opened) << opened.error().detail;
    journal = std::move(*opened);
    journal->sync_behind(behind_bytes, [this] { told.fetch_add(1); });
  }

  std::expected<void, Error> append(std::vector<std::string> payloads, Sync sync = Sync::yes) {
    appended = std::move(payloads);
    const std::vector<std::string_view> views(appended.begin(), appended.end());
    return journal->append(views, sync);
  }

  // Appends two large records and returns when their sync is held up.
  void hold_up(char c) {
    disk.close_gate();
    ASSERT_TRUE(append({large(c), large(c)}));
    disk.await_sync();
    ASSERT_EQ(journal->appending(), Appending::pending);
  }

  static std::string large(char c) { return std::string(behind_bytes, c); }

  std::vector<std::string> payloads() const {
    std::vector<std::string> found;
    const auto done = journal->read(Seq{}, no_limit, [&](const Record& record) {
      EXPECT_EQ(record.seq.n, found.size() + 1);
      found.emplace_back(record.payload);
    });
    EXPECT_TRUE(done) << done.error().detail;
    return found;
  }
};

TEST(SyncBehind, SmallBatchesAndThoseWithoutSyncAreDoneAtOnce) {
  Bench bench;
  ASSERT_TRUE(bench.append({"small"}));
  EXPECT_EQ(bench.journal->appending(), Appending::idle);
  EXPECT_EQ(bench.journal->last(), Seq{1});
  ASSERT_TRUE(bench.append({Bench::large('a')}, Sync::no));
  EXPECT_EQ(bench.journal->appending(), Appending::idle);
  EXPECT_EQ(bench.journal->last(), Seq{2});
  EXPECT_EQ(bench.told, 0);
}

TEST(SyncBehind, BatchCountsOnceItIsSyncedAndTheCallerIsTold) {
  Bench bench;
  bench.hold_up('a');
  EXPECT_EQ(bench.journal->last(), Seq{});
  EXPECT_EQ(bench.told, 0);
  bench.disk.open_gate();
  bench.journal->wait();
  EXPECT_EQ(bench.journal->appending(), Appending::idle);
  EXPECT_EQ(bench.journal->last(), Seq{2});
  const uint64_t reads = bench.disk.inner.calls().reads;
  EXPECT_EQ(bench.payloads(), (std::vector{Bench::large('a'), Bench::large('a')}));
  EXPECT_EQ(bench.disk.inner.calls().reads, reads) << "the batch is still in memory";
  bench.open();  // the former one's thread has ended: it has said all
  EXPECT_EQ(bench.told, 1);
  EXPECT_EQ(bench.journal->last(), Seq{2});
}

TEST(SyncBehind, WhileABatchIsPendingThoseBeforeItCanBeRead) {
  Bench bench;
  ASSERT_TRUE(bench.append({"a", "b"}));
  ASSERT_TRUE(bench.append({"c"}, Sync::no));
  bench.hold_up('p');
  EXPECT_EQ(bench.payloads(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(bench.journal->fetch(Seq{3}).value(), "c");
  EXPECT_EQ(bench.journal->fetch(Seq{4}).error().code, base::Code::not_found);
  bench.disk.open_gate();
  bench.journal->wait();
  EXPECT_EQ(bench.journal->fetch(Seq{4}).value(), Bench::large('p'));
  EXPECT_EQ(bench.payloads().size(), 5u);
}

// A node reads it while the next is on its way, also when that began a new segment.
TEST(SyncBehind, TheBatchBeforeThePendingOneIsStillInMemory) {
  Bench bench;
  for (char c = 'a'; c < 'm'; ++c) {
    ASSERT_TRUE(bench.append({Bench::large(c), "x"}));
    bench.journal->wait();
    const Seq last = bench.journal->last();
    bench.hold_up(c);
    const uint64_t reads = bench.disk.inner.calls().reads;
    EXPECT_EQ(bench.journal->fetch(last).value(), "x");
    size_t found = 0;
    const auto count = [&found](const Record&) { ++found; };
    ASSERT_TRUE(bench.journal->read(Seq{last.n - 2}, no_limit, count));
    EXPECT_EQ(found, 2u);
    EXPECT_EQ(bench.disk.inner.calls().reads, reads);
    bench.disk.open_gate();
    bench.journal->wait();
  }
}

// Whoever reads may ask how far the journal is. Then the pending batch, of the next segment, comes
// to count in the middle of the one that is read.
TEST(SyncBehind, ABatchThatIsReadStaysReadableWhenThePendingOneComesToCount) {
  Bench bench;
  for (char c = 'a'; c < 'z'; ++c) {
    ASSERT_TRUE(bench.append({Bench::large(c), "x", "y"}));
    bench.journal->wait();
    const Seq last = bench.journal->last();
    bench.hold_up(c);
    std::vector<std::string> found;
    ASSERT_TRUE(bench.journal->read(Seq{last.n - 3}, no_limit, [&](const Record& record) {
      if (found.empty()) {
        bench.disk.open_gate();
        bench.journal->wait();
      }
      found.emplace_back(record.payload);
    }));
    const std::string large = Bench::large(c);
    EXPECT_EQ(found, (std::vector<std::string>{large, "x", "y", large, large}));
  }
}

TEST(SyncBehind, SnapshotAndTrimWorkBesideAPendingBatch) {
  Bench bench;
  ASSERT_TRUE(bench.append({"a", "b"}));
  ASSERT_TRUE(bench.journal->save({Seq{1}, "one"}));
  bench.hold_up('p');
  // All up to here is synced: the archive alone has to do with this trim.
  bench.journal->trim(Seq{1}, {});
  EXPECT_FALSE(bench.journal->read(Seq{}, no_limit, [](const Record&) {}));
  EXPECT_EQ(bench.journal->fetch(Seq{2}).value(), "b");
  bench.disk.open_gate();
  ASSERT_TRUE(bench.journal->save({Seq{2}, "two"}));
  EXPECT_EQ(bench.journal->snapshot_seq(), Seq{2});
  bench.journal->wait();
  EXPECT_EQ(bench.journal->last(), Seq{4});
}

// The kernel tells a failure to only one of two syncs: there must not be a second beside the
// batch's.
TEST(SyncBehind, SnapshotOfWhatIsNotSyncedWaitsForThePendingBatch) {
  Bench bench;
  ASSERT_TRUE(bench.append({"unsynced"}, Sync::no));
  ASSERT_TRUE(bench.append({Bench::large('p')}));
  ASSERT_TRUE(bench.journal->save({Seq{1}, "one"}));
  EXPECT_EQ(bench.journal->appending(), Appending::idle);
  EXPECT_EQ(bench.journal->last(), Seq{2});
  EXPECT_EQ(bench.journal->snapshot_seq(), Seq{1});

  ASSERT_TRUE(bench.append({"unsynced"}, Sync::no));
  bench.disk.inner.fail_next(Call::sync, EIO);
  ASSERT_TRUE(bench.append({Bench::large('q')}));
  EXPECT_EQ(bench.journal->save({Seq{3}, "three"}).error().code, base::Code::storage_failed);
  EXPECT_EQ(bench.journal->snapshot_seq(), Seq{1});
}

TEST(SyncBehind, FailureLosesTheBatchAndEndsTheAppending) {
  for (const Call call : {Call::write, Call::sync}) {
    Bench bench;
    ASSERT_TRUE(bench.append({"good"}));
    bench.disk.inner.fail_next(call, EIO);
    ASSERT_TRUE(bench.append({Bench::large('b')}));
    bench.journal->wait();
    EXPECT_EQ(bench.journal->appending(), Appending::lost);
    EXPECT_EQ(bench.journal->last(), Seq{1});
    const uint64_t calls = bench.disk.inner.calls().changing;
    for (const std::string& again : {Bench::large('b'), std::string("small")}) {
      const auto refused = bench.append({again});
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, base::Code::storage_failed);
      EXPECT_NE(refused.error().detail.find(call == Call::write ? "cannot write" : "cannot sync"),
                std::string::npos)
          << refused.error().detail;
    }
    EXPECT_EQ(bench.disk.inner.calls().changing, calls) << "nothing may be tried again";
    EXPECT_EQ(bench.payloads(), std::vector<std::string>{"good"});
    bench.journal.reset();
    EXPECT_EQ(bench.told, 1);
    bench.disk.inner.restart(1);
    bench.open();
    EXPECT_EQ(bench.payloads(), std::vector<std::string>{"good"});
    EXPECT_TRUE(bench.append({"again"}));
  }
}

TEST(SyncBehind, ClosingStoresWhatIsPending) {
  Bench bench;
  bench.hold_up('z');
  std::thread late([&bench] { bench.disk.open_gate(); });
  bench.journal.reset();
  late.join();
  EXPECT_EQ(bench.told, 1);
  for (const uint64_t seed : {1u, 2u, 3u}) {
    bench.disk.inner.restart(seed);  // what was synced stays
    bench.open();
    EXPECT_EQ(bench.payloads(), (std::vector{Bench::large('z'), Bench::large('z')}));
    bench.journal.reset();
  }
}

TEST(SyncBehind, SegmentsRollBetweenPendingBatches) {
  Bench bench;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(bench.append({Bench::large('r'), std::to_string(i)}));
    bench.journal->wait();
    if (i % 3 == 0) {
      ASSERT_TRUE(bench.append({"small"}));
    }
  }
  const auto before = bench.payloads();
  EXPECT_EQ(before.size(), 94u);
  bench.open();
  EXPECT_EQ(bench.payloads(), before);
}

}  // namespace
}  // namespace parley::journal
