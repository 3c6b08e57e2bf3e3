// SPDX-License-Identifier: Apache-2.0
// What the file journal knows of the room that is left, and what it leaves to others.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/time.h"
#include "journal/file/file.h"
#include "journal/file/simulated_disk.h"

namespace parley::journal {
namespace {

constexpr size_t segment_bytes = 16 << 10;
const std::string directory = "/j";

// A journal on a disk of so many segments, of which it keeps some free.
struct Bench {
  SimulatedDisk disk;
  base::ManualClock clock{Time{1'000}};

  explicit Bench(uint64_t segments) { disk.set_capacity(segments * segment_bytes + 4'096); }

  std::unique_ptr<FileJournal> open(uint64_t kept_free) {
    auto opened = FileJournal::open({.directory = directory,
                                     .segment_bytes = segment_bytes,
                                     .background = false,
                                     .disk = &disk,
                                     .keep_free = kept_free * segment_bytes},
                                    clock);
    EXPECT_TRUE(opened) << opened.error().detail;
    return opened ? std::move(*opened) : nullptr;
  }
  size_t spares() const {
    return static_cast<size_t>(std::ranges::count_if(
        disk.paths(), [](auto& path) { return path.find("spare") != std::string::npos; }));
  }
};

TEST(Room, IsWhatTheDiskHasAndTheSpares) {
  Bench bench(8);
  const auto journal = bench.open(0);
  EXPECT_EQ(bench.spares(), 1u);
  const auto free = static_cast<uint64_t>(bench.disk.free_bytes(directory));
  EXPECT_EQ(journal->room(), free + segment_bytes);
}

TEST(Room, NoSpareIsMadeOfWhatIsKeptFree) {
  Bench bench(3);
  const auto journal = bench.open(2);
  EXPECT_EQ(bench.spares(), 0u);
  EXPECT_EQ(journal->take_trouble()->code, base::Code::storage_full);
  EXPECT_GE(journal->room(), 2 * segment_bytes);
}

// Who counts on the room stops in time; what it needs then can still be stored.
TEST(Room, WhatIsKeptFreeIsThereForTheNextSegment) {
  Bench bench(8);
  const auto journal = bench.open(2);
  const std::string payload(1'000, 'f');
  const std::string_view view = payload;
  while (journal->room() >= 2 * segment_bytes) {
    ASSERT_TRUE(journal->append(std::span(&view, 1), Sync::yes));
  }
  for (size_t n = 0; n < segment_bytes / payload.size(); ++n) {
    ASSERT_TRUE(journal->append(std::span(&view, 1), Sync::yes)) << n;
  }
}

// Spares are of no use to snapshots, nor to the history.
TEST(Room, SparesAreGivenBackWhenLessIsFreeThanIsToBe) {
  Bench bench(8);
  const auto journal = bench.open(2);
  ASSERT_EQ(bench.spares(), 1u);
  bench.disk.set_capacity(bench.disk.bytes_used() + 2 * segment_bytes - 1);
  EXPECT_EQ(journal->room(), 3 * segment_bytes - 1);
  EXPECT_EQ(bench.spares(), 0u);
  EXPECT_EQ(journal->room(), 3 * segment_bytes - 1) << "nothing is lost by that";
}

// After a burst there are two of them, and only one is too much.
TEST(Room, NoMoreSparesAreGivenBackThanMustBe) {
  Bench bench(12);
  const auto journal = bench.open(2);
  const std::string payload(1'000, 'f');
  const std::string_view view = payload;
  for (size_t n = 0; n < 4 * segment_bytes / payload.size(); ++n) {
    ASSERT_TRUE(journal->append(std::span(&view, 1), Sync::yes));
  }
  ASSERT_TRUE(journal->save({journal->last(), ""}));
  journal->trim(journal->last(), {});
  ASSERT_EQ(bench.spares(), 2u);
  bench.disk.set_capacity(bench.disk.bytes_used() + segment_bytes);
  journal->room();
  EXPECT_EQ(bench.spares(), 1u);
}

// The number of the process in the lock is only for a message.
TEST(Room, AFullDiskIsOpened) {
  Bench bench(8);
  bench.open(0).reset();
  bench.disk.set_capacity(bench.disk.bytes_used());
  bench.disk.replace(directory + "/lock", "");
  bench.disk.set_capacity(bench.disk.bytes_used());
  EXPECT_TRUE(bench.open(0));
}

}  // namespace
}  // namespace parley::journal
