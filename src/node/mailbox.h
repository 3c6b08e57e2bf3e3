// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/entry.h"

namespace parley::node {

// Commands on their way into the journal, encoded as they come in: one buffer a batch, no copies.
// Bounded in number and bytes. Not thread-safe: it belongs to the node's thread.
class Mailbox {
 public:
  struct Limits {
    size_t commands_max = 65'536;
    size_t bytes_max = 16 * 1024 * 1024;
  };

  explicit Mailbox(const Limits& limits) : limits_(limits) {}

  // Puts the entry at the end; OVERLOADED when there is no room.
  std::expected<void, base::Error> put(const core::Entry& entry, bool needs_sync);

  // Moves what has collected into `batch`, whose buffers serve for the next.
  struct Batch {
    std::string bytes;
    std::vector<size_t> ends;
    uint64_t first = 0;  // numbers of its commands; 0 when it is empty
    uint64_t last = 0;
    bool needs_sync = false;

    bool empty() const { return ends.empty(); }
    void clear();
    // One view per command.
    std::vector<std::string_view> payloads() const;
  };
  void take(Batch& batch);

  bool empty() const { return collecting_.empty(); }
  // What one more turn of the sockets brings still has room.
  bool half_full() const {
    return collecting_.ends.size() > limits_.commands_max / 2 ||
           collecting_.bytes.size() > limits_.bytes_max / 2;
  }

 private:
  Limits limits_;
  Batch collecting_;
};

}  // namespace parley::node
