// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace parley::app {

// The disk of a data directory: what is left for new messages, and a file that only takes space, so
// that a broker can start on a disk that others have filled, and let agents settle what waits.
// `disk.reserve` keeps the broker itself from filling it.
class DiskRoom {
 public:
  struct Options {
    std::string data;
    uint64_t reserve = 0;
    // What can still be written there, in bytes. Empty: the file system is asked.
    std::function<uint64_t()> free = nullptr;
  };

  explicit DiskRoom(Options options);

  // As much as one wants where that is unknown.
  uint64_t free() const { return options_.free(); }
  // A file that cannot be written then is no reason not to start.
  bool is_full() const;

  // Before anything is written: gives up the file if the disk is full. Says so then.
  std::optional<std::string> make_room_to_start();

  // What is left for new messages, when the history has grown by `growth` bytes; the journal has
  // `journal_room`, spares included. Makes the file, when there is room for it again.
  uint64_t left(uint64_t journal_room, uint64_t growth);

 private:
  void keep_room_to_start(uint64_t free);
  std::string path() const { return options_.data + "/reserve"; }

  Options options_;
  bool has_file_ = false;
};

}  // namespace parley::app
