// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/place.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "journal/archive/segment_test.h"

namespace parley::journal {
namespace {

using testing::damage;
using testing::payload_of;
using testing::write_segment;

// The segments as places of the record, in this order.
std::vector<Place> places_in(SimulatedDisk& disk, const std::vector<Segment>& segments, Seq seq) {
  std::vector<Place> places;
  for (const Segment& segment : segments) {
    auto place = open_place(disk, segment, seq);
    EXPECT_TRUE(place) << place.error().detail;
    places.push_back(std::move(*place));
  }
  return places;
}

std::vector<Segment> log_and_carried(SimulatedDisk& disk) {
  std::vector<Segment> segments;
  segments.push_back(write_segment(disk, SegmentKind::log, {1, 2, 3, 4}));
  segments.push_back(write_segment(disk, SegmentKind::carried, {2, 4}));
  return segments;
}

TEST(Place, ARecordIsFetchedFromTheFirstPlaceThatHasIt) {
  SimulatedDisk disk;
  const auto segments = log_and_carried(disk);
  for (const uint64_t seq : {1, 2, 3, 4}) {
    EXPECT_EQ(fetch_from(places_in(disk, segments, Seq{seq}), Seq{seq}).value(), payload_of(seq));
  }
  const auto missing = fetch_from(places_in(disk, segments, Seq{5}), Seq{5});
  EXPECT_EQ(missing.error().code, base::Code::not_found);
}

TEST(Place, DamageIsToldOnlyWhereNoOtherPlaceHasTheRecord) {
  SimulatedDisk disk;
  const auto segments = log_and_carried(disk);
  damage(disk, segments.front());
  EXPECT_EQ(fetch_from(places_in(disk, segments, Seq{2}), Seq{2}).value(), payload_of(2));
  const auto hidden = fetch_from(places_in(disk, segments, Seq{3}), Seq{3});
  EXPECT_EQ(hidden.error().code, base::Code::journal_damaged);
  EXPECT_NE(hidden.error().detail.find(segments.front().path), std::string::npos);
}

TEST(Place, AFileThatCannotBeReadIsAFailureWhateverOtherPlacesHave) {
  SimulatedDisk disk;
  const auto places = places_in(disk, log_and_carried(disk), Seq{2});
  disk.fail_next(SimulatedDisk::Call::read, EIO, "log-");
  EXPECT_EQ(fetch_from(places, Seq{2}).error().code, base::Code::storage_failed);
}

TEST(Place, ReadingEndsWithTheSegmentOrWhenNothingIsLeft) {
  SimulatedDisk disk;
  const Segment segment = write_segment(disk, SegmentKind::log, {1, 2, 3, 4});
  const auto place = open_place(disk, segment, Seq{2});
  ASSERT_TRUE(place);
  for (const size_t most : {size_t{2}, size_t{9}}) {
    std::vector<std::string> found;
    size_t left = most;
    const auto reached = read_from(*place, Seq{2}, left, [&](const Record& record) {
      found.emplace_back(record.payload);
      --left;
    });
    if (most == 2) {
      EXPECT_EQ(reached, Seq{4});
      EXPECT_EQ(found, (std::vector{payload_of(2), payload_of(3)}));
    } else {
      EXPECT_EQ(reached, Seq{5});
      EXPECT_EQ(found, (std::vector{payload_of(2), payload_of(3), payload_of(4)}));
    }
  }
}

TEST(Place, ReadingStopsAtDamage) {
  SimulatedDisk disk;
  const Segment segment = write_segment(disk, SegmentKind::log, {1, 2, 3});
  damage(disk, segment);
  const auto place = open_place(disk, segment, Seq{1});
  ASSERT_TRUE(place);
  const size_t left = 9;
  const auto reached = read_from(*place, Seq{1}, left,
                                 [](const Record& record) { ADD_FAILURE() << record.payload; });
  EXPECT_EQ(reached.error().code, base::Code::journal_damaged);
}

}  // namespace
}  // namespace parley::journal
