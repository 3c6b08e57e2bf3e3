// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/archived_segments.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace parley::journal {
namespace {

Segment a_segment(SegmentKind kind, const std::string& path, uint64_t first, uint64_t last) {
  Segment segment;
  segment.path = path;
  segment.header.kind = kind;
  segment.header.base = Seq{first};
  segment.last = Seq{last};
  return segment;
}

// Two full segments with a trimmed one between them, and two carried ones over all.
ArchivedSegments some() {
  ArchivedSegments segments;
  segments.add(a_segment(SegmentKind::log, "log 21", 21, 30));
  segments.add(a_segment(SegmentKind::log, "log 1", 1, 10));
  segments.add(a_segment(SegmentKind::carried, "carried 12", 12, 25));
  segments.add(a_segment(SegmentKind::carried, "carried 3", 3, 18));
  return segments;
}

template <class Pointers>
std::vector<std::string> paths(const Pointers& segments) {
  std::vector<std::string> paths;
  for (const Segment* segment : segments) {
    paths.push_back(segment->path);
  }
  return paths;
}

using Paths = std::vector<std::string>;

TEST(ArchivedSegments, ARecordMayBeInOneLogSegmentAndInAnyCarriedOneAroundIt) {
  const ArchivedSegments segments = some();
  EXPECT_EQ(paths(segments.holders(Seq{1})), Paths{"log 1"});
  EXPECT_EQ(paths(segments.holders(Seq{3})), (Paths{"log 1", "carried 3"}));
  EXPECT_EQ(paths(segments.holders(Seq{10})), (Paths{"log 1", "carried 3"}));
  EXPECT_EQ(paths(segments.holders(Seq{11})), Paths{"carried 3"});
  EXPECT_EQ(paths(segments.holders(Seq{18})), (Paths{"carried 12", "carried 3"}));
  EXPECT_EQ(paths(segments.holders(Seq{25})), (Paths{"log 21", "carried 12"}));
  EXPECT_EQ(paths(segments.holders(Seq{30})), Paths{"log 21"});
  EXPECT_EQ(paths(segments.holders(Seq{31})), Paths{});
}

TEST(ArchivedSegments, OnlyThoseWithoutALaterRecordAreTrimmedAndCarriedOnesComeFirst) {
  ArchivedSegments segments = some();
  EXPECT_EQ(paths(segments.trimmed(Seq{9})), Paths{});
  EXPECT_EQ(paths(segments.trimmed(Seq{10})), Paths{"log 1"});
  EXPECT_EQ(paths(segments.trimmed(Seq{18})), (Paths{"carried 3", "log 1"}));
  EXPECT_EQ(paths(segments.trimmed(Seq{30})),
            (Paths{"carried 12", "carried 3", "log 1", "log 21"}));
}

TEST(ArchivedSegments, TheOthersStayWhereTheyAreWhenSomeAreRemoved) {
  ArchivedSegments segments = some();
  const std::vector<Segment*> all = segments.trimmed(Seq{30});
  segments.remove(*all[1]);
  segments.remove(*all[2]);
  EXPECT_EQ(segments.trimmed(Seq{30}), (std::vector<Segment*>{all[0], all[3]}));
  EXPECT_EQ(paths(segments.holders(Seq{3})), Paths{});
}

}  // namespace
}  // namespace parley::journal
