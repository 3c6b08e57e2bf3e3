// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/model/entry.h"

namespace parley::node {

// Commands on their way into the journal, encoded as they come in, without copies. Bounded in
// number and bytes. Not thread-safe: it belongs to the node's thread.
class Mailbox {
 public:
  struct Limits {
    size_t commands_max = 65'536;
    size_t bytes_max = 16 * 1024 * 1024;
  };

  explicit Mailbox(const Limits& limits) : limits_(limits) {}

  // Puts the entry at the end; OVERLOADED when there is no room.
  std::expected<void, base::Error> put(const core::Entry& entry, bool needs_sync);

  // Encoded commands, in parts: one buffer for all would be copied each time that it grows, and
  // much collects while the journal syncs for long.
  struct Batch {
    struct Part {
      std::string bytes;
      std::vector<size_t> ends;
    };
    static constexpr size_t part_bytes = 1024 * 1024;  // a part with so many takes no more

    std::vector<Part> parts;
    size_t commands = 0;
    size_t bytes = 0;
    uint64_t first = 0;  // numbers of its commands; 0 when it is empty
    uint64_t last = 0;
    bool needs_sync = false;

    bool empty() const { return commands == 0; }
    void add(const core::Entry& entry, bool entry_needs_sync);
    void clear();
    // One view per command.
    std::vector<std::string_view> payloads() const;
  };
  // Moves what has collected into `batch`, whose buffers serve for the next.
  void take(Batch& batch);

  bool empty() const { return collecting_.empty(); }
  // What one more turn of the sockets brings still has room.
  bool half_full() const {
    return collecting_.commands > limits_.commands_max / 2 ||
           collecting_.bytes > limits_.bytes_max / 2;
  }

 private:
  Limits limits_;
  Batch collecting_;
};

}  // namespace parley::node
