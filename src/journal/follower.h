// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "journal/file/disk.h"
#include "journal/file/format.h"
#include "journal/journal.h"

namespace parley::journal {

// Reads the records of a journal's directory in order while a FileJournal keeps writing it, by
// files of its own: for a thread beside the node's. Takes no lock and changes nothing.
//
// The records that it reads must not be trimmed: whoever follows holds the trimming back. The
// records up to `upto` must be applied by the node, so that their bytes are in the files.
class Follower {
 public:
  // The disk is the machine's own when null; else it outlives the follower.
  explicit Follower(std::string directory, Disk* disk = nullptr);

  // Hands out the records after `after` up to and with `upto`, in order, without a gap. It is quick
  // when it goes on where the last call ended. Records in between are read and passed over; an
  // earlier place is searched from the beginning of its segment. An error when a record is missing
  // or damaged; the records before it have been handed out.
  std::expected<void, Error> read(Seq after, Seq upto,
                                  const std::function<void(const Record&)>& visit);

 private:
  struct Open {
    File file;
    std::string path;
    SegmentHeader header;
  };

  std::expected<void, Error> seek(Seq seq);
  std::expected<void, Error> open(const std::string& path);
  std::expected<bool, Error> read_segment(Seq after, Seq upto,
                                          const std::function<void(const Record&)>& visit);

  std::string directory_;
  std::unique_ptr<Disk> own_disk_;
  Disk& disk_;
  std::optional<Open> segment_;
  uint64_t offset_ = 0;  // in it, of the record `next_` if it is there
  Seq next_;
};

}  // namespace parley::journal
