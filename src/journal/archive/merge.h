// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "journal/file/disk.h"
#include "journal/file/segment.h"
#include "journal/journal.h"

namespace parley::journal {

// Giving the space of trimmed records back, in three steps: `survey` finds what is still needed,
// `choose_for_merging` says which segments are worth the copying, `merge` copies.

// The segments whose `live` is up to date, in the order in which they were given.
struct Surveyed {
  std::vector<const Segment*> segments;
  std::optional<Error> failure;  // why the last of those that are left out could not be read
};

// Brings `live` of each segment up to date: those of the records in `keep` (ascending) that it
// holds. A record that several segments hold is live in the first of them only. The file of a
// segment is read once in its life, so each call must keep no more than the calls before it. A
// segment that cannot be read stays as it is.
Surveyed survey(Disk& disk, const std::vector<Segment*>& segments, const std::vector<Seq>& keep);

// Which of the segments to merge so that the files of all stay within twice what is live in them.
// Segments with nothing live are not for merging and are not given. May be none.
std::vector<const Segment*> choose_for_merging(std::vector<const Segment*> segments);

// Copies the live records of the segments, in ascending order and one of each, into new carried
// segments of about `segment_bytes` at most, and makes those durable. The old ones stay.
std::expected<std::vector<Segment>, Error> merge(Disk& disk, const std::string& directory,
                                                 uint64_t segment_bytes,
                                                 const std::vector<const Segment*>& segments);

}  // namespace parley::journal
