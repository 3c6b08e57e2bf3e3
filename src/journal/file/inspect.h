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

// What reading one segment or snapshot found.
struct FileReport {
  enum class Kind : uint8_t { log, carried, snapshot };

  std::string path;
  Kind kind = Kind::log;
  Seq base;  // a snapshot's seq
  Seq last;
  uint64_t records = 0;
  uint64_t bytes = 0;               // of the file
  uint64_t bytes_used = 0;          // up to the end of the last valid record
  std::optional<Error> damage;      // the first, with its offset
  std::optional<uint64_t> torn_at;  // newest log segment: a torn tail that opening would cut
};

struct VerifyReport {
  std::vector<FileReport> files;  // carried, then logs, then snapshots, each ascending
  std::optional<Error> damage;    // of the whole: records that no file has
  bool sound() const;
};

// Checks every file of a journal without a lock and without a change. A journal that is in use may
// move under it: a segment that was being written or given back can then look damaged.
std::expected<VerifyReport, Error> verify(Disk& disk, const std::string& directory);

// Hands out the valid records of every segment, carried ones first, with the segment's path; a
// record may come twice. Goes on after damage with the next segment. For dumps.
std::expected<void, Error> visit_records(
    Disk& disk, const std::string& directory,
    const std::function<void(const std::string& path, const StoredRecord&)>& visit);

}  // namespace parley::journal
