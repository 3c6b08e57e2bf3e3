// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/merge.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "journal/archive/segment_test.h"

namespace parley::journal {
namespace {

using testing::damage;
using testing::directory;
using testing::log_bytes;
using testing::write_segment;

std::vector<uint64_t> live(const Segment& segment) {
  std::vector<uint64_t> live;
  for (const LiveRecord& record : segment.live) {
    live.push_back(record.seq.n);
  }
  return live;
}

using Seqs = std::vector<uint64_t>;

TEST(Survey, FindsWhatIsKeptAndOfTwoCopiesTheFirst) {
  SimulatedDisk disk;
  Segment carried = write_segment(disk, SegmentKind::carried, {2, 5});
  Segment log = write_segment(disk, SegmentKind::log, {1, 2, 3, 4});
  const auto surveyed = survey(disk, {&carried, &log}, {Seq{2}, Seq{3}, Seq{9}});
  EXPECT_FALSE(surveyed.failure);
  EXPECT_EQ(surveyed.segments, (std::vector<const Segment*>{&carried, &log}));
  EXPECT_EQ(live(carried), Seqs{2});
  EXPECT_EQ(live(log), Seqs{3});
}

TEST(Survey, ReadsAFileOnlyOnce) {
  SimulatedDisk disk;
  Segment log = write_segment(disk, SegmentKind::log, {1, 2, 3, 4});
  survey(disk, {&log}, {Seq{1}, Seq{2}, Seq{4}});
  const uint64_t reads = disk.calls().reads;
  survey(disk, {&log}, {Seq{4}});
  EXPECT_EQ(live(log), Seqs{4});
  survey(disk, {&log}, {});
  EXPECT_EQ(live(log), Seqs{});
  EXPECT_EQ(disk.calls().reads, reads);
}

TEST(Survey, LeavesOutASegmentThatCannotBeReadAndGoesOn) {
  SimulatedDisk disk;
  Segment damaged = write_segment(disk, SegmentKind::log, {1, 2});
  Segment sound = write_segment(disk, SegmentKind::log, {3, 4});
  damage(disk, damaged);
  const auto surveyed = survey(disk, {&damaged, &sound}, {Seq{2}, Seq{3}});
  ASSERT_TRUE(surveyed.failure);
  EXPECT_EQ(surveyed.failure->code, base::Code::journal_damaged);
  EXPECT_EQ(surveyed.segments, std::vector<const Segment*>{&sound});
  EXPECT_FALSE(damaged.surveyed);
  EXPECT_EQ(live(sound), Seqs{3});
}

TEST(Merge, CarriesWhatIsLiveInOrder) {
  SimulatedDisk disk;
  Segment carried = write_segment(disk, SegmentKind::carried, {2, 5});
  Segment log = write_segment(disk, SegmentKind::log, {1, 2, 3, 4});
  const auto surveyed = survey(disk, {&carried, &log}, {Seq{2}, Seq{3}, Seq{5}});
  const auto chosen = choose_for_merging(surveyed.segments);
  EXPECT_EQ(chosen.size(), 2u);
  const auto merged = merge(disk, directory, log_bytes, chosen);
  ASSERT_TRUE(merged) << merged.error().detail;
  ASSERT_EQ(merged->size(), 1u);
  const auto stored = load_segment(disk, merged->front().path);
  ASSERT_TRUE(stored) << stored.error().detail;
  EXPECT_EQ(stored->records, 3u);
  EXPECT_EQ(stored->header.base, Seq{2});
  EXPECT_EQ(stored->last, Seq{5});
  EXPECT_EQ(live(merged->front()), (Seqs{2, 3, 5}));
}

}  // namespace
}  // namespace parley::journal
