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

// The files of a journal's directory, sorted by name; names without the directory.
struct Listing {
  std::vector<std::string> logs;
  std::vector<std::string> carried;
  std::vector<std::string> spares;
  std::vector<Seq> snapshots;
  std::vector<std::string> temporary;
};

std::expected<Listing, Error> list_journal(Disk& disk, const std::string& directory);

// What opening a journal found and did; for the log.
struct OpenReport {
  size_t segments = 0;
  uint64_t records = 0;
  // A batch that was being written when the power went, and was cut off; 0 bytes when there was
  // none. Nothing in it had been promised.
  uint64_t bytes_cut = 0;
  std::string cut_segment;
  uint64_t cut_offset = 0;
  // Why a newer snapshot was passed over for an older one; empty when none was.
  std::string snapshot_passed_over;
};

struct Recovered {
  std::vector<Segment> logs;  // all but the newest
  std::vector<Segment> carried;
  std::vector<std::string> spares;  // paths of files that can become segments
  std::optional<Segment> newest;    // none in a directory that holds no journal yet
  std::vector<Seq> snapshots;       // whole ones, ascending
  Seq readable_after;               // the records after this one are all there
  OpenReport report;
};

// Reads and checks everything in the directory; the caller holds its lock. Cuts a torn tail off
// the newest segment and clears what lies behind it, so that nothing of it can come back. Removes
// temporary files. Returns journal_damaged when a record that may have been promised is missing.
std::expected<Recovered, Error> recover(Disk& disk, const std::string& directory,
                                        uint64_t segment_bytes);

// Whether the valid records of a segment are followed by a valid one they do not reach, or a
// carried segment does not reach its end: damage, in words. None when it is sound.
std::expected<std::optional<Error>, Error> find_damage(Disk& disk, const Segment& segment);

}  // namespace parley::journal
