// SPDX-License-Identifier: Apache-2.0
#include "journal/follower.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "journal/file/recovery.h"
#include "journal/file/segment.h"

namespace parley::journal {

namespace {

constexpr size_t follow_ahead_bytes = size_t{256} << 10;

Error not_there(Seq seq, const std::string& directory) {
  return {base::Code::not_found,
          "record " + std::to_string(seq.n) + " is not in the journal " + directory +
              ": it was trimmed, or never written",
          {}};
}

}  // namespace

Follower::Follower(std::string directory, Disk* disk)
    : directory_(std::move(directory)),
      own_disk_(disk == nullptr ? std::make_unique<RealDisk>() : nullptr),
      disk_(disk == nullptr ? *own_disk_ : *disk) {}

std::expected<void, Error> Follower::read(Seq after, Seq upto,
                                          const std::function<void(const Record&)>& visit) {
  if (after >= upto) {
    return {};
  }
  if (!segment_ || next_ > after.next()) {
    if (auto found = seek(after.next()); !found) {
      return found;
    }
  }
  while (next_ <= upto) {
    const Seq before = next_;
    const auto ended = read_segment(after, upto, visit);
    if (!ended) {
      return std::unexpected(ended.error());
    }
    if (!*ended) {
      return {};
    }
    // The next segment is named after the record we want. It may have the name of the one that is
    // open: an empty segment is replaced when a batch is too large for it.
    const bool again = next_ == before && segment_->header.base == next_;
    const std::string path = directory_ + "/" + log_name(next_);
    const uint64_t salt = segment_->header.salt;
    if (auto opened = open(path); !opened) {
      return opened;
    }
    if (again && segment_->header.salt == salt) {
      return std::unexpected(damaged_error(
          path, block_bytes, "record " + std::to_string(next_.n) + " was here and is damaged"));
    }
  }
  return {};
}

// Finds the segment that holds `seq` and passes over what lies before it.
std::expected<void, Error> Follower::seek(Seq seq) {
  segment_.reset();
  const auto listing = list_journal(disk_, directory_);
  if (!listing) {
    return std::unexpected(listing.error());
  }
  // The names sort as the first records do.
  const auto after = std::ranges::upper_bound(listing->logs, log_name(seq));
  if (after == listing->logs.begin()) {
    return std::unexpected(not_there(seq, directory_));
  }
  if (auto opened = open(directory_ + "/" + *std::prev(after)); !opened) {
    return opened;
  }
  next_ = segment_->header.base;
  if (next_ < seq) {
    const auto passed = read_segment(Seq{seq.n - 1}, Seq{seq.n - 1}, {});
    if (!passed) {
      return std::unexpected(passed.error());
    }
    if (*passed) {
      segment_.reset();
      return std::unexpected(not_there(seq, directory_));
    }
  }
  return {};
}

std::expected<void, Error> Follower::open(const std::string& path) {
  segment_.reset();
  auto file = File::open(disk_, path, OpenMode::read);
  if (!file) {
    return std::unexpected(file.error() == ENOENT ? not_there(next_, directory_)
                                                  : storage_error("open", path, file.error()));
  }
  std::string block(block_bytes, '\0');
  const auto got = file->read(block.data(), block.size(), 0);
  if (!got) {
    return std::unexpected(storage_error("read", path, got.error()));
  }
  block.resize(*got);
  const auto header = decode_header(block);
  if (!header) {
    return std::unexpected(damaged_error(path, 0, header.error()));
  }
  segment_.emplace(std::move(*file), path, *header);
  offset_ = block_bytes;
  return {};
}

// Hands out what the open segment holds after `after` and up to `upto`; true when it ends before.
// The reader is a new one for each call: what an older one read ahead was not written yet.
std::expected<bool, Error> Follower::read_segment(Seq after, Seq upto,
                                                  const std::function<void(const Record&)>& visit) {
  SegmentReader reader(segment_->file, segment_->header, follow_ahead_bytes);
  while (next_ <= upto) {
    const auto stored = reader.at(offset_);
    if (!stored) {
      return std::unexpected(storage_error("read", segment_->path, stored.error()));
    }
    if (!*stored || (*stored)->record.seq != next_) {
      return true;
    }
    if (next_ > after) {
      visit((*stored)->record);
    }
    offset_ += (*stored)->bytes;
    next_ = next_.next();
  }
  return false;
}

}  // namespace parley::journal
