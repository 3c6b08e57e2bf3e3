// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/archived_segments.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace parley::journal {

void ArchivedSegments::add(Segment segment) {
  if (segment.header.kind == SegmentKind::log) {
    const Seq base = segment.header.base;
    logs_.emplace(base, std::move(segment));
  } else {
    std::string path = segment.path;
    carried_.emplace(std::move(path), std::move(segment));
  }
}

std::vector<const Segment*> ArchivedSegments::holders(Seq seq) const {
  std::vector<const Segment*> holders;
  const auto after = logs_.upper_bound(seq);
  if (after != logs_.begin() && std::prev(after)->second.last >= seq) {
    holders.push_back(&std::prev(after)->second);
  }
  // A merge takes in the small carried segments, so there are never many to go through.
  for (const auto& [path, segment] : carried_) {
    if (segment.header.base <= seq && seq <= segment.last) {
      holders.push_back(&segment);
    }
  }
  return holders;
}

std::vector<Segment*> ArchivedSegments::trimmed(Seq upto) {
  std::vector<Segment*> trimmed;
  for (auto& [path, segment] : carried_) {
    trimmed.push_back(&segment);
  }
  for (auto& [base, segment] : logs_) {
    trimmed.push_back(&segment);
  }
  std::erase_if(trimmed, [upto](const Segment* segment) { return segment->last > upto; });
  return trimmed;
}

void ArchivedSegments::remove(const Segment& segment) {
  if (segment.header.kind == SegmentKind::log) {
    const auto found = logs_.find(segment.header.base);
    CHECK(found != logs_.end());
    logs_.erase(found);
  } else {
    const auto found = carried_.find(segment.path);
    CHECK(found != carried_.end());
    carried_.erase(found);
  }
}

}  // namespace parley::journal
