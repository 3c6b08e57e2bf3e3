// SPDX-License-Identifier: Apache-2.0

// What the file journal does beyond the conformance suite: torn tails, damage, failing disks,
// power loss, space. All on a simulated disk but for what only a real one can show.

#include "journal/file/file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <semaphore>
#include <string>
#include <vector>

#include "base/time.h"
#include "journal/file/inspect.h"
#include "journal/file/simulated_disk.h"

namespace parley::journal {
namespace {

using Call = SimulatedDisk::Call;
using Opened = std::expected<std::unique_ptr<FileJournal>, Error>;

constexpr size_t no_limit = size_t{1} << 40;
const std::string directory = "/j";

// A simulated disk and the ways in which the tests use it.
struct Bench {
  SimulatedDisk disk;
  base::ManualClock clock{Time{1'000}};
  size_t segment_bytes = 16 << 10;

  Opened try_open() { return FileJournal::open({directory, segment_bytes, false, &disk}, clock); }

  std::unique_ptr<FileJournal> open() {
    auto opened = try_open();
    EXPECT_TRUE(opened) << opened.error().detail;
    return opened ? std::move(*opened) : nullptr;
  }

  std::string newest_log() const {
    std::string newest;
    for (const std::string& path : disk.paths()) {
      newest = path.find("/log-") != std::string::npos ? path : newest;
    }
    return newest;
  }

  size_t count(const std::string& part) const {
    size_t n = 0;
    for (const std::string& path : disk.paths()) {
      n += path.find(part) != std::string::npos ? 1 : 0;
    }
    return n;
  }

  void flip(const std::string& path, size_t at) {
    std::string bytes = disk.contents(path);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x5a);
    disk.replace(path, std::move(bytes));
  }

  // The journal as it was, on a disk of its own.
  std::unique_ptr<Bench> copy() const {
    auto other = std::make_unique<Bench>();
    other->segment_bytes = segment_bytes;
    for (const std::string& path : disk.paths()) {
      const int fd = other->disk.open(path, OpenMode::create);
      other->disk.close(fd);
      other->disk.replace(path, disk.contents(path));
    }
    other->disk.sync_directory(directory);
    return other;
  }
};

std::expected<void, Error> append(FileJournal& journal, const std::vector<std::string>& payloads,
                                  Sync sync = Sync::yes) {
  const std::vector<std::string_view> views(payloads.begin(), payloads.end());
  return journal.append(views, sync);
}

std::vector<std::string> payloads_after(FileJournal& journal, uint64_t after) {
  std::vector<std::string> payloads;
  const auto done = journal.read(Seq{after}, no_limit, [&](const Record& record) {
    EXPECT_EQ(record.seq.n, after + payloads.size() + 1);
    payloads.emplace_back(record.payload);
  });
  EXPECT_TRUE(done) << done.error().detail;
  return payloads;
}

// Offsets of the records in a segment, and of its end.
std::vector<uint64_t> record_offsets(Bench& bench, const std::string& path) {
  std::vector<uint64_t> offsets;
  const auto segment = load_segment(
      bench.disk, path, [&](const StoredRecord& stored) { offsets.push_back(stored.offset); });
  EXPECT_TRUE(segment);
  offsets.push_back(segment->end);
  return offsets;
}

// A journal of ten batches with one record each, and where its last two records lie.
struct TenRecords {
  Bench bench;
  std::string path;
  std::vector<uint64_t> offsets;

  TenRecords() {
    auto journal = bench.open();
    for (int i = 1; i <= 10; ++i) {
      EXPECT_TRUE(append(*journal, {"payload " + std::to_string(i)}));
    }
    path = bench.newest_log();
    offsets = record_offsets(bench, path);
  }
};

// Either a start with an intact prefix that can go on, or a refusal that names the segment.
void expect_sound_outcome(Bench& bench, size_t records_least, const std::string& segment) {
  auto opened = bench.try_open();
  if (!opened) {
    EXPECT_EQ(opened.error().code, base::Code::journal_damaged);
    EXPECT_NE(opened.error().detail.find(segment), std::string::npos) << opened.error().detail;
    return;
  }
  const auto found = payloads_after(**opened, 0);
  ASSERT_GE(found.size(), records_least);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], "payload " + std::to_string(i + 1));
  }
  ASSERT_TRUE(append(**opened, {"new"}));
  opened->reset();
  auto again = bench.open();
  ASSERT_TRUE(again);
  EXPECT_EQ(payloads_after(*again, found.size()), std::vector<std::string>{"new"});
}

TEST(FileJournal, CutAtEveryByteOfTheLastTwoRecordsLosesNothingBefore) {
  const TenRecords ten;
  for (uint64_t at = ten.offsets[8]; at < ten.offsets[10]; ++at) {
    SCOPED_TRACE("cut at byte " + std::to_string(at));
    const auto bench = ten.bench.copy();
    bench->disk.replace(ten.path, ten.bench.disk.contents(ten.path).substr(0, at));
    expect_sound_outcome(*bench, at < ten.offsets[9] ? 8 : 9, ten.path);
  }
}

TEST(FileJournal, AnyFlippedByteOfTheLastTwoRecordsLosesNothingBefore) {
  const TenRecords ten;
  for (uint64_t at = ten.offsets[8]; at < ten.offsets[10]; ++at) {
    SCOPED_TRACE("flipped byte " + std::to_string(at));
    const auto bench = ten.bench.copy();
    bench->flip(ten.path, at);
    // Record 10 was written after the sync of record 9, and proves that 9 was stored.
    if (at < ten.offsets[9]) {
      EXPECT_EQ(bench->try_open().error().code, base::Code::journal_damaged);
    } else {
      expect_sound_outcome(*bench, 9, ten.path);
    }
  }
}

TEST(FileJournal, AnyFlippedByteOfTheHeaderIsRefusedOrHarmless) {
  const TenRecords ten;
  for (size_t at = 0; at < 80; ++at) {
    const auto bench = ten.bench.copy();
    bench->flip(ten.path, at);
    expect_sound_outcome(*bench, 10, ten.path);
  }
}

TEST(FileJournal, CutAnywhereInTheFileIsSoundOrRefused) {
  const TenRecords ten;
  for (uint64_t at = 0; at < ten.offsets[10] + 100; at += 13) {
    const auto bench = ten.bench.copy();
    bench->disk.replace(ten.path, ten.bench.disk.contents(ten.path).substr(0, at));
    expect_sound_outcome(*bench, 0, ten.path);
  }
}

TEST(FileJournal, TornTailIsReportedWithItsPlace) {
  TenRecords ten;
  ten.bench.flip(ten.path, ten.offsets[9] + 33);
  const auto journal = ten.bench.open();
  EXPECT_EQ(journal->report().bytes_cut, ten.offsets[10] - ten.offsets[9]);
  EXPECT_EQ(journal->report().cut_segment, ten.path);
  EXPECT_EQ(journal->report().cut_offset, ten.offsets[9]);
}

TEST(FileJournal, CleanEndIsReportedAsNoCut) {
  TenRecords ten;
  EXPECT_EQ(ten.bench.open()->report().bytes_cut, 0u);
}

TEST(FileJournal, SnapshotProvesThatAMissingRecordWasStored) {
  TenRecords ten;
  {
    const auto journal = ten.bench.open();
    ASSERT_TRUE(journal->save({Seq{10}, "state"}));
    ASSERT_EQ(journal->snapshot_seq(), Seq{10});
  }
  ten.bench.flip(ten.path, ten.offsets[9] + 33);
  EXPECT_EQ(ten.bench.try_open().error().code, base::Code::journal_damaged);
}

TEST(FileJournal, DamageBeforeTheTailIsRefusedWithSegmentAndOffset) {
  Bench bench;
  {
    const auto journal = bench.open();
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(append(*journal, {std::string(1'000, 'd')}));
    }
  }
  const std::string first = directory + "/" + log_name(Seq{1});
  const auto offsets = record_offsets(bench, first);
  bench.flip(first, offsets[4] + 100);
  const auto opened = bench.try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, base::Code::journal_damaged);
  EXPECT_NE(opened.error().detail.find(first + " at byte " + std::to_string(offsets[4])),
            std::string::npos)
      << opened.error().detail;
  EXPECT_NE(opened.error().detail.find("record 5 "), std::string::npos);
}

TEST(FileJournal, DamageWhileRunningIsToldByFetchAndRead) {
  TenRecords ten;
  const auto journal = ten.bench.open();
  ten.bench.flip(ten.path, ten.offsets[4] + 40);
  EXPECT_EQ(journal->fetch(Seq{5}).error().code, base::Code::journal_damaged);
  EXPECT_NE(journal->fetch(Seq{5}).error().detail.find(ten.path + " at byte " +
                                                       std::to_string(ten.offsets[4])),
            std::string::npos);
  EXPECT_EQ(journal->read(Seq{0}, no_limit, [](const Record&) {}).error().code,
            base::Code::journal_damaged);
}

TEST(FileJournal, MissingSegmentIsRefused) {
  Bench bench;
  {
    const auto journal = bench.open();
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(append(*journal, {std::string(1'000, 'm')}));
    }
  }
  ASSERT_GE(bench.count("/log-"), 4u);
  std::vector<std::string> logs;
  for (const std::string& path : bench.disk.paths()) {
    if (path.find("/log-") != std::string::npos) {
      logs.push_back(path);
    }
  }
  for (const size_t lost : {size_t{0}, size_t{1}, logs.size() - 2}) {
    const auto copy = bench.copy();
    copy->disk.remove(logs[lost]);
    EXPECT_EQ(copy->try_open().error().code, base::Code::journal_damaged) << logs[lost];
  }
}

TEST(FileJournal, StaleRecordsOfATornBatchNeverFollowANewRecord) {
  // Records of exactly one block, so that the zeros behind a batch do not hide the stale ones.
  const auto block = [](char c) { return std::string(block_bytes - record_header_bytes, c); };
  Bench bench;
  bench.segment_bytes = 64 << 10;
  {
    const auto journal = bench.open();
    ASSERT_TRUE(append(*journal, {block('1')}));
    ASSERT_TRUE(append(*journal, {block('a'), block('b'), block('c')}));
  }
  // The sectors that held the first of the batch were lost, the others were not.
  const std::string path = bench.newest_log();
  const auto offsets = record_offsets(bench, path);
  std::string bytes = bench.disk.contents(path);
  bytes.replace(offsets[1], block_bytes, block_bytes, '\0');
  bench.disk.replace(path, bytes);
  {
    const auto journal = bench.open();
    EXPECT_EQ(journal->last(), Seq{1});
    EXPECT_EQ(journal->report().bytes_cut, 3 * block_bytes);
    ASSERT_TRUE(append(*journal, {block('n')}));
  }
  const auto journal = bench.open();
  EXPECT_EQ(payloads_after(*journal, 0), (std::vector<std::string>{block('1'), block('n')}));
}

TEST(FileJournal, RecordOfAnotherSegmentIsNotTakenForItsOwn) {
  TenRecords ten;
  TenRecords other;
  append(*other.bench.open(), {"payload 11"}).value();
  const std::string foreign = other.bench.disk.contents(other.path).substr(ten.offsets[10]);
  std::string bytes = ten.bench.disk.contents(ten.path);
  ten.bench.disk.replace(ten.path, bytes.replace(ten.offsets[10], foreign.size(), foreign));
  EXPECT_EQ(ten.bench.open()->last(), Seq{10});
}

TEST(FileJournal, WhatOpeningFoundIsDurable) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Bench bench;
    ASSERT_TRUE(append(*bench.open(), {"a", "b", "c"}, Sync::no));
    EXPECT_EQ(bench.open()->last(), Seq{3});
    bench.disk.restart(seed);
    EXPECT_EQ(bench.open()->last(), Seq{3}) << "seed " << seed;
  }
}

TEST(FileJournal, BytesOfAnEarlierLifeAreNeverRecords) {
  Bench bench;
  auto journal = bench.open();
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(append(*journal, {std::string(700, static_cast<char>('a' + round % 26))}));
    }
    ASSERT_TRUE(journal->save({journal->last(), ""}));
    journal->trim(journal->last(), {});
    const Seq last = journal->last();
    journal.reset();
    journal = bench.open();
    ASSERT_EQ(journal->last(), last);
    EXPECT_EQ(journal->report().bytes_cut, 0u);
  }
  EXPECT_LE(bench.count("/log-"), 3u);
  EXPECT_LE(bench.count("/spare-"), 2u);
}

TEST(FileJournal, ReadingBackTheBatchTouchesNoDisk) {
  Bench bench;
  const auto journal = bench.open();
  ASSERT_TRUE(append(*journal, {"a", "b", "c"}));
  const uint64_t reads = bench.disk.calls().reads;
  EXPECT_EQ(payloads_after(*journal, 0).size(), 3u);
  EXPECT_EQ(journal->fetch(Seq{2}).value(), "b");
  EXPECT_EQ(bench.disk.calls().reads, reads);
}

TEST(FileJournal, BatchIsOneWriteAndOneSync) {
  Bench bench;
  const auto journal = bench.open();
  const uint64_t calls = bench.disk.calls().changing;
  ASSERT_TRUE(append(*journal, {"a", "b", "c"}));
  EXPECT_EQ(bench.disk.calls().changing, calls + 2);
  ASSERT_TRUE(append(*journal, {"d"}, Sync::no));
  EXPECT_EQ(bench.disk.calls().changing, calls + 3);
}

TEST(FileJournal, RecordsAreReadBesideTheCaller) {
  Bench bench;
  const auto journal = bench.open();
  std::vector<Seq> wanted;
  for (uint64_t n = 1; n <= 200; ++n) {
    ASSERT_TRUE(append(*journal, {std::to_string(n) + std::string(300, 'r')}));
    wanted.push_back(Seq{201 - n});
  }
  wanted.push_back(Seq{999});
  ASSERT_TRUE(journal->save({Seq{100}, ""}));
  std::vector<Seq> keep;
  for (uint64_t n = 1; n <= 100; ++n) {
    keep.push_back(Seq{n});
  }
  std::counting_semaphore<> told(0);
  journal->fetch_behind([&told] { told.release(); });
  journal->fetch_later(wanted);
  journal->trim(Seq{100}, keep);  // moves what is asked for
  std::vector<Fetched> found;
  while (found.size() < wanted.size()) {
    told.acquire();
    std::ranges::move(journal->take_fetched(), std::back_inserter(found));
  }
  EXPECT_FALSE(journal->has_fetched());
  for (size_t n = 0; n < 200; ++n) {
    EXPECT_EQ(found[n].seq, wanted[n]);
    ASSERT_TRUE(found[n].payload) << found[n].payload.error().detail;
    EXPECT_EQ(*found[n].payload, std::to_string(wanted[n].n) + std::string(300, 'r'));
  }
  EXPECT_EQ(found.back().payload.error().code, base::Code::not_found);
}

// Zeros are the housekeeper's work: the one who appends would wait for 64 MiB of them.
TEST(FileJournal, AppendingWritesNoZerosWhenNoSpareIsReady) {
  Bench bench;
  const auto journal = bench.open();
  ASSERT_TRUE(append(*journal, {"a"}));
  const uint64_t calls = bench.disk.calls().changing;
  // Larger than a segment, so that no spare will do.
  ASSERT_TRUE(append(*journal, {std::string(size_t{3} << 20, 'l')}));
  // Made, reserved, its header written and synced, named, the directory synced; then the batch.
  EXPECT_LE(bench.disk.calls().changing, calls + 8);
  EXPECT_EQ(journal->fetch(Seq{2}).value().size(), size_t{3} << 20);
  ASSERT_TRUE(append(*journal, {"b"}));
  EXPECT_EQ(payloads_after(*journal, 2), std::vector<std::string>{"b"});
  EXPECT_EQ(bench.count(".tmp"), 0u);
}

TEST(FileJournal, FullDiskRefusesTheBatchAndGoesOnWhenThereIsSpace) {
  Bench bench;
  const auto journal = bench.open();
  bench.disk.set_capacity(bench.disk.bytes_used());
  size_t stored = 0;
  auto appended = append(*journal, {std::string(1'000, 'f')});
  for (; appended; appended = append(*journal, {std::string(1'000, 'f')})) {
    ++stored;
  }
  EXPECT_EQ(appended.error().code, base::Code::storage_full);
  EXPECT_EQ(journal->last().n, stored);
  EXPECT_EQ(append(*journal, {std::string(1'000, 'f')}).error().code, base::Code::storage_full);
  EXPECT_TRUE(journal->take_trouble());
  bench.disk.set_capacity(1 << 30);
  EXPECT_TRUE(append(*journal, {"more"}));
  EXPECT_EQ(payloads_after(*journal, stored), std::vector<std::string>{"more"});
}

TEST(FileJournal, FailedSyncEndsTheAppendingUntilReopened) {
  Bench bench;
  auto journal = bench.open();
  ASSERT_TRUE(append(*journal, {"good"}));
  bench.disk.fail_next(Call::sync, EIO);
  EXPECT_EQ(append(*journal, {"bad"}).error().code, base::Code::storage_failed);
  EXPECT_EQ(journal->last(), Seq{1});
  const uint64_t calls = bench.disk.calls().changing;
  EXPECT_EQ(append(*journal, {"later"}).error().code, base::Code::storage_failed);
  EXPECT_EQ(journal->save({Seq{1}, ""}).error().code, base::Code::storage_failed);
  EXPECT_EQ(bench.disk.calls().changing, calls) << "nothing may be tried again";
  EXPECT_EQ(payloads_after(*journal, 0), std::vector<std::string>{"good"});
  journal.reset();
  bench.disk.restart(1);
  journal = bench.open();
  EXPECT_EQ(payloads_after(*journal, 0), std::vector<std::string>{"good"});
  EXPECT_TRUE(append(*journal, {"again"}));
}

TEST(FileJournal, FailedWriteEndsTheAppending) {
  for (const int number : {EIO, ENOSPC}) {
    Bench bench;
    const auto journal = bench.open();
    bench.disk.fail_next(Call::write, number);
    EXPECT_EQ(append(*journal, {"bad"}).error().code, base::Code::storage_failed);
    EXPECT_EQ(append(*journal, {"bad"}).error().code, base::Code::storage_failed);
    EXPECT_EQ(journal->last(), Seq{});
  }
}

TEST(FileJournal, FailedSnapshotIsReportedLaterAndLeavesTheOlder) {
  Bench bench;
  const auto journal = bench.open();
  ASSERT_TRUE(append(*journal, {"a", "b"}));
  ASSERT_TRUE(journal->save({Seq{1}, "old"}));
  bench.disk.fail_next(Call::sync, EIO, "snapshot");
  EXPECT_TRUE(journal->save({Seq{2}, "new"}));
  EXPECT_EQ(journal->snapshot_seq(), Seq{1});
  EXPECT_EQ(journal->load().value()->state, "old");
  EXPECT_EQ(journal->take_save_failure().value().code, base::Code::storage_failed);
  EXPECT_FALSE(journal->take_save_failure());
  EXPECT_TRUE(journal->save({Seq{2}, "new"}));
  EXPECT_FALSE(journal->take_save_failure());
  EXPECT_EQ(journal->load().value()->state, "new");
  EXPECT_EQ(bench.count(".tmp"), 0u);
}

TEST(FileJournal, DamagedSnapshotFallsBackToTheOlderOneWhileItsRecordsAreThere) {
  Bench bench;
  {
    const auto journal = bench.open();
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(append(*journal, {std::string(1'000, 's')}));
    }
    ASSERT_TRUE(journal->save({Seq{20}, "older"}));
    ASSERT_TRUE(journal->save({Seq{58}, "newer"}));
    EXPECT_EQ(bench.count("/snapshot-"), 2u);
  }
  bench.flip(directory + "/" + snapshot_name(Seq{58}), 41);
  {
    const auto journal = bench.open();
    EXPECT_EQ(journal->load().value()->state, "older");
    EXPECT_NE(journal->report().snapshot_passed_over, "");
    ASSERT_TRUE(journal->save({Seq{60}, "newest"}));
    journal->trim(Seq{60}, {});
  }
  EXPECT_EQ(bench.count(snapshot_name(Seq{58})), 0u);
  bench.flip(directory + "/" + snapshot_name(Seq{60}), 41);
  const auto refused = bench.try_open();
  EXPECT_EQ(refused.error().code, base::Code::journal_damaged);
  EXPECT_NE(refused.error().detail.find("snapshot"), std::string::npos);
}

TEST(FileJournal, SpaceStaysWithinTwiceWhatIsLive) {
  Bench bench;
  std::mt19937_64 random(7);
  auto journal = bench.open();
  std::map<Seq, std::string> live;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string payload(random() % 3'000, static_cast<char>('a' + random() % 26));
      ASSERT_TRUE(append(*journal, {payload}, Sync::no));
      live.emplace(journal->last(), payload);
    }
    std::erase_if(live, [&](const auto&) { return random() % 4 == 0; });
    ASSERT_TRUE(journal->save({journal->last(), ""}));
    std::vector<Seq> keep;
    uint64_t live_bytes = 0;
    for (const auto& [seq, payload] : live) {
      keep.push_back(seq);
      live_bytes += record_bytes(payload.size());
    }
    journal->trim(journal->last(), keep);
    EXPECT_LE(bench.disk.bytes_used(), 2 * live_bytes + 6 * bench.segment_bytes);
    if (round % 7 == 0) {
      journal.reset();
      journal = bench.open();
    }
    for (const auto& [seq, payload] : live) {
      ASSERT_EQ(journal->fetch(seq).value(), payload);
    }
  }
  EXPECT_FALSE(journal->take_trouble());
  EXPECT_GE(bench.count("/carried-"), 1u);
  EXPECT_LE(bench.count("/carried-"), 20u);
}

TEST(FileJournal, CarriedRecordsCanBeCarriedAgain) {
  Bench bench;
  auto journal = bench.open();
  std::vector<Seq> keep;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 40; ++i) {
      const std::string name = std::to_string(journal->last().n + 1);
      ASSERT_TRUE(append(*journal, {name + std::string(900, '.')}));
    }
    keep.push_back(Seq{journal->last().n - 30});
    ASSERT_TRUE(journal->save({journal->last(), ""}));
    journal->trim(journal->last(), keep);
    EXPECT_EQ(bench.count("/carried-"), 1u);
    journal.reset();
    journal = bench.open();
    for (const Seq seq : keep) {
      EXPECT_TRUE(journal->fetch(seq).value().starts_with(std::to_string(seq.n) + "."));
    }
  }
}

TEST(FileJournal, CarriedSegmentsStayFew) {
  Bench bench;
  const auto journal = bench.open();
  std::vector<Seq> keep;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(append(*journal, {std::string(900, '.')}, Sync::no));
    }
    for (uint64_t i = 0; i < 5; ++i) {
      keep.push_back(Seq{journal->last().n - 10 + i});
    }
    ASSERT_TRUE(journal->save({journal->last(), ""}));
    journal->trim(journal->last(), keep);
  }
  // 200 records of 936 bytes fill twelve segments.
  EXPECT_GE(bench.count("/carried-"), 12u);
  EXPECT_LE(bench.count("/carried-"), 20u);
}

TEST(FileJournal, HousekeeperWorksBesideTheAppending) {
  Bench bench;
  const FileJournal::Options options{directory, bench.segment_bytes, true, &bench.disk};
  auto opened = FileJournal::open(options, bench.clock);
  ASSERT_TRUE(opened);
  FileJournal& journal = **opened;
  std::vector<Seq> keep;
  for (uint64_t n = 1; n <= 2'000; ++n) {
    ASSERT_TRUE(append(journal, {std::to_string(n) + std::string(500, '.')}));
    if (n % 50 == 0) {
      keep.push_back(Seq{n - 49});
      ASSERT_TRUE(journal.save({Seq{n}, "state"}));
      const Seq upto = journal.snapshot_seq();
      journal.trim(upto, {keep.begin(), std::ranges::upper_bound(keep, upto)});
    }
    for (const Seq seq : keep) {
      ASSERT_TRUE(journal.fetch(seq).value().starts_with(std::to_string(seq.n) + "."));
    }
  }
  journal.settle();
  EXPECT_EQ(journal.snapshot_seq(), Seq{2'000});
  EXPECT_FALSE(journal.take_trouble());
}

TEST(FileJournal, DamagedCarriedSegmentIsRefused) {
  Bench bench;
  {
    const auto journal = bench.open();
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(append(*journal, {std::string(900, '.')}));
    }
    ASSERT_TRUE(journal->save({Seq{40}, ""}));
    journal->trim(Seq{40}, {Seq{3}, Seq{7}});
  }
  for (const std::string& path : bench.disk.paths()) {
    if (path.find("/carried-") != std::string::npos) {
      bench.flip(path, block_bytes + 1'000);
      const auto opened = bench.try_open();
      EXPECT_EQ(opened.error().code, base::Code::journal_damaged);
      EXPECT_NE(opened.error().detail.find(path), std::string::npos);
    }
  }
}

TEST(FileJournal, SecondOpenIsToldWhoHasIt) {
  Bench bench;
  const auto journal = bench.open();
  const auto second = bench.try_open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::Code::data_in_use);
  EXPECT_NE(second.error().detail.find("process " + std::to_string(::getpid()) + ";"),
            std::string::npos)
      << second.error().detail;
}

TEST(FileJournal, AnotherProcessCannotOpenIt) {
  std::string name = (std::filesystem::temp_directory_path() / "parley-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  base::ManualClock clock{Time{1}};
  const FileJournal::Options options{name, 16 << 10, false, nullptr};
  {
    const auto journal = FileJournal::open(options, clock);
    ASSERT_TRUE(journal) << journal.error().detail;
    const pid_t child = ::fork();
    if (child == 0) {
      const auto second = FileJournal::open(options, clock);
      ::_exit(!second && second.error().code == base::Code::data_in_use ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(FileJournal::open(options, clock));
  std::filesystem::remove_all(name);
}

TEST(FileJournal, VerifyNamesDamageAndChangesNothing) {
  TenRecords ten;
  {
    const auto sound = verify(ten.bench.disk, directory);
    ASSERT_TRUE(sound);
    EXPECT_TRUE(sound->sound());
    ASSERT_EQ(sound->files.size(), 1u);
    EXPECT_EQ(sound->files[0].records, 10u);
    EXPECT_EQ(sound->files[0].base, Seq{1});
  }
  ten.bench.flip(ten.path, ten.offsets[4] + 40);
  const uint64_t calls = ten.bench.disk.calls().changing;
  const auto damaged = verify(ten.bench.disk, directory);
  ASSERT_TRUE(damaged);
  EXPECT_FALSE(damaged->sound());
  EXPECT_NE(damaged->files[0].damage->detail.find("at byte " + std::to_string(ten.offsets[4])),
            std::string::npos);
  EXPECT_EQ(ten.bench.disk.calls().changing, calls);
}

TEST(FileJournal, EveryRecordCanBeVisitedForADump) {
  TenRecords ten;
  std::vector<std::string> payloads;
  const auto done =
      visit_records(ten.bench.disk, directory, [&](const std::string&, const StoredRecord& stored) {
        payloads.emplace_back(stored.record.payload);
      });
  EXPECT_TRUE(done);
  ASSERT_EQ(payloads.size(), 10u);
  EXPECT_EQ(payloads[9], "payload 10");
}

// One life of a journal until the power goes: random batches, snapshots and trims. `records` is
// what was appended, `promised` how much of it must survive, `kept` what was trimmed but kept.
struct Workload {
  std::vector<std::string> records;
  size_t promised = 0;
  std::vector<Seq> kept;
  uint64_t trimmed = 0;

  void run(FileJournal& journal, SimulatedDisk& disk, std::mt19937_64& random) {
    while (disk.has_power()) {
      const size_t size = random() % 6;
      std::vector<std::string> batch;
      for (size_t i = 0; i < size; ++i) {
        batch.push_back(std::to_string(random()) + std::string(random() % 1'500, 'w'));
      }
      const Sync sync = random() % 4 == 0 ? Sync::no : Sync::yes;
      records.resize(journal.last().n);
      const bool done = append(journal, batch, sync) && was_stored(journal);
      // After a failure a restart may still find the batch, or a part of it.
      records.insert(records.end(), batch.begin(), batch.end());
      if (done && sync == Sync::yes) {
        promised = records.size();
      }
      if (done && random() % 10 == 0) {
        tidy(journal, random);
      }
    }
  }

  static bool was_stored(FileJournal& journal) {
    journal.wait();
    return journal.appending() == Appending::idle;
  }

  void tidy(FileJournal& journal, std::mt19937_64& random) {
    const Seq last = journal.last();
    if (!journal.save({last, "state " + std::to_string(last.n)})) {
      return;
    }
    promised = last.n;
    if (journal.snapshot_seq() != last || random() % 2 == 0) {
      return;
    }
    for (uint64_t n = trimmed + 1; n <= last.n; n += 1 + random() % 8) {
      kept.push_back(Seq{n});
    }
    std::erase_if(kept, [&](Seq) { return random() % 5 == 0; });
    trimmed = last.n;
    journal.trim(last, kept);
  }

  // What is there must be what was appended, and all that was promised must be there.
  void check(FileJournal& journal) {
    ASSERT_GE(journal.last().n, promised);
    ASSERT_LE(journal.last().n, records.size());
    const auto snapshot = journal.load().value();
    const uint64_t from = snapshot ? snapshot->seq.n : 0;
    ASSERT_GE(from, trimmed);
    if (snapshot) {
      ASSERT_EQ(snapshot->state, "state " + std::to_string(from));
    }
    const auto found = payloads_after(journal, from);
    ASSERT_EQ(found.size(), journal.last().n - from);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], records[from + i]);
    }
    for (const Seq seq : kept) {
      ASSERT_EQ(journal.fetch(seq).value_or("missing"), records[seq.n - 1]) << seq.n;
    }
    records.resize(journal.last().n);
    promised = records.size();
  }
};

// Every other seed has its larger batches synced behind the append.
TEST(FileJournal, PowerLossAtAnyCallLosesNothingThatWasPromised) {
  for (uint64_t seed = 1; seed <= 800; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Bench bench;
    Workload work;
    for (int life = 0; life < 4; ++life) {
      bench.disk.lose_power_after(1 + random() % 250);
      auto opened = bench.try_open();
      if (opened) {
        if (life > 0) {
          work.check(**opened);
        }
        if (seed % 2 == 0) {
          (*opened)->sync_behind(2'000, [] {});
        }
        work.run(**opened, bench.disk, random);
      } else {
        ASSERT_FALSE(bench.disk.has_power()) << opened.error().detail;
      }
      opened = std::unexpected(Error{});
      bench.disk.restart(random());
    }
    const auto journal = bench.open();
    ASSERT_TRUE(journal);
    work.check(*journal);
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace parley::journal
