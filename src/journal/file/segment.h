// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reading whole segment files: record by record, by place, and what lies behind a torn end.

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file/disk.h"
#include "journal/file/format.h"
#include "journal/journal.h"

namespace parley::journal {

constexpr size_t read_ahead_bytes = size_t{1} << 20;

// A valid record; its payload lives as long as the reader's buffer.
struct StoredRecord {
  Record record;
  Seq floor;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Reads one open segment through a sliding buffer. The file outlives it.
class SegmentReader {
 public:
  SegmentReader(const File& file, const SegmentHeader& header, size_t read_ahead);

  const SegmentHeader& header() const { return header_; }
  uint32_t seed() const { return seed_; }

  // The record that begins at `offset`, if a whole and unaltered one does; its payload is valid
  // until the next call. An errno when the disk cannot be read.
  std::expected<std::optional<StoredRecord>, int> at(uint64_t offset);

  // The bytes from `offset`; fewer than `size` at the end of the segment or of the file. Valid
  // until the next call.
  std::expected<std::string_view, int> bytes(uint64_t offset, size_t size);

 private:
  const File& file_;
  SegmentHeader header_;
  uint32_t seed_;
  size_t read_ahead_;
  std::string buffer_;
  uint64_t buffer_at_ = 0;
};

// Where a record, or one shortly before it, begins: a mark for every 4 KiB or so.
class SparseIndex {
 public:
  void add(Seq seq, uint64_t offset);
  uint64_t offset_before(Seq seq) const;

 private:
  struct Mark {
    Seq seq;
    uint64_t offset;
  };
  std::vector<Mark> marks_;
};

// A record that a trim keeps, as the merging needs it.
struct LiveRecord {
  Seq seq;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// A segment and what reading it found.
struct Segment {
  std::string path;
  SegmentHeader header;
  uint64_t file_bytes = 0;  // less than header.bytes when the file was cut
  uint64_t records = 0;
  Seq last;  // of an empty log segment: the one before its base
  Time last_time;
  uint64_t end = block_bytes;  // where the next record begins, or would
  SparseIndex index;

  // Once surveyed by a trim: what of it is still needed. Only the housekeeper looks at these.
  bool surveyed = false;
  std::vector<LiveRecord> live;

  void add(const RecordPlace& place, uint64_t bytes);
  uint64_t live_bytes() const;
};

using VisitStored = std::function<void(const StoredRecord&)>;

// Reads the segment up to its first record that is not valid, which is no error here. An Error
// when the file cannot be read or its header is damaged.
std::expected<Segment, Error> load_segment(Disk& disk, const std::string& path,
                                           const VisitStored& visit = {});

// What lies behind the valid records of a segment.
struct Aftermath {
  std::optional<uint64_t> valid;  // offset of the first whole record there
  std::optional<uint64_t> proof;  // offset of one that proves the missing record was synced
  uint64_t torn_end = 0;          // end of the last thing there with the head of a record, or 0
};

// Searches from `from`, where the record `expected` should be and is not, to the end of the
// segment.
std::expected<Aftermath, int> search_after(SegmentReader& reader, uint64_t from, Seq expected);

struct Extent {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What a search for one record found; with neither of the two it is not there.
struct Lookup {
  std::optional<StoredRecord> found;
  std::optional<uint64_t> damaged_at;
};

// Searches the record `seq` within `extent`, which begins at a record.
std::expected<Lookup, int> look_up(SegmentReader& reader, Extent extent, Seq seq);

}  // namespace parley::journal
