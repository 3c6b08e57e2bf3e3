// SPDX-License-Identifier: Apache-2.0
#include "app/disk_room.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/size.h"
#include "view/runner.h"

namespace parley::app {

namespace {

constexpr uint64_t file_bytes_max = uint64_t{8} << 20;
constexpr uint64_t full_below = 64 * 1024;

uint64_t free_bytes(const std::string& directory) {
  std::error_code error;
  const auto space = std::filesystem::space(directory, error);
  return error ? UINT64_MAX : space.available;
}

}  // namespace

DiskRoom::DiskRoom(Options options) : options_(std::move(options)) {
  if (!options_.free) {
    options_.free = [data = options_.data] { return free_bytes(data); };
  }
}

bool DiskRoom::is_full() const { return free() < full_below; }

std::optional<std::string> DiskRoom::make_room_to_start() {
  const uint64_t now_free = free();
  has_file_ = ::access(path().c_str(), F_OK) == 0;
  if (now_free >= file_bytes_max || now_free >= options_.reserve) {
    return std::nullopt;
  }
  const bool had_some = ::unlink(path().c_str()) == 0;
  has_file_ = false;
  return "the disk of " + options_.data + " is full: " + std::to_string(now_free) +
         " bytes are free" + (had_some ? ", and what was kept for a start is used now" : "") +
         "; make room, or let agents settle what waits";
}

// Each message that the history still has to take goes through SQLite's log, which grows to about
// what is between two checkpoints. Spares of the journal are no room for it, nor for snapshots: at
// most half of what is left counts as such.
uint64_t DiskRoom::left(uint64_t journal_room, uint64_t growth) {
  const uint64_t log_bytes = view::Runner::Options{}.checkpoint_bytes;
  const uint64_t history = growth + std::min(growth, log_bytes);
  const uint64_t now_free = free();
  keep_room_to_start(now_free);
  const uint64_t loose = now_free - std::min(now_free, history);
  return std::min(journal_room - std::min(journal_room, history),
                  base::saturating_sum(loose, loose));
}

void DiskRoom::keep_room_to_start(uint64_t now_free) {
  const uint64_t bytes = std::min(file_bytes_max, options_.reserve);
  if (has_file_ || bytes == 0 || now_free < base::saturating_sum(options_.reserve, bytes)) {
    return;
  }
  has_file_ = true;  // also where it cannot be made: that is not tried again
  const int file =
      ::open(path().c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
  const bool made = file >= 0 && ::fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0;
  if (file >= 0) {
    ::close(file);
  }
  if (file >= 0 && !made) {
    ::unlink(path().c_str());  // a file system that cannot reserve
  }
}

}  // namespace parley::app
