// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "journal/file/disk.h"
#include "journal/file/segment.h"
#include "journal/journal.h"

namespace parley::journal {

// Finds which of the `wanted` records (ascending) the segment holds; their places and sizes.
std::expected<std::vector<LiveRecord>, Error> survey(Disk& disk, const Segment& segment,
                                                     const std::vector<Seq>& wanted);

// Which of the segments to merge so that the files of all stay within twice what is live in them.
// Segments with nothing live are not for merging and are not given. May be none.
std::vector<const Segment*> choose_for_merging(std::vector<const Segment*> segments);

// Copies the live records of the segments, in ascending order and one of each, into new carried
// segments of about `segment_bytes` at most, and makes those durable. The old ones stay.
std::expected<std::vector<Segment>, Error> merge(Disk& disk, const std::string& directory,
                                                 uint64_t segment_bytes,
                                                 const std::vector<const Segment*>& segments);

}  // namespace parley::journal
