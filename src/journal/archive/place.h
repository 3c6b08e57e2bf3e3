// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reading the records of segments where they lie.

#include <cstddef>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "journal/file/disk.h"
#include "journal/file/segment.h"
#include "journal/journal.h"

namespace parley::journal {

// An open segment that holds a record, or may, and where in it to look. Meanwhile the archive may
// give the file back, and the next segment may be written into it: then the old records fail their
// checksums, which looks like damage, and the record must be looked for anew.
struct Place {
  File file;
  std::string path;
  SegmentHeader header;
  Extent extent;
};

// Opens the segment to read from `seq` on.
std::expected<Place, Error> open_place(Disk& disk, const Segment& segment, Seq seq);

// The payload of the record `seq`, from the first place that has it. When none has it: not_found,
// or journal_damaged if damage in one of the places may hide it.
std::expected<std::string, Error> fetch_from(std::span<const Place> places, Seq seq);

// Hands out the records of one log segment from `from` on, which it holds, until the segment ends
// or nothing is `left`, which `visit` counts down. Returns the first record that it did not hand
// out.
std::expected<Seq, Error> read_from(const Place& place, Seq from, const size_t& left,
                                    const std::function<void(const Record&)>& visit);

// A record that is not in the journal, in words; `why` ends the sentence.
Error not_there(Seq seq, std::string_view why);

}  // namespace parley::journal
