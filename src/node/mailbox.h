// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/entry.h"

namespace parley::node {

// Commands on their way into the journal, encoded as they come in: one buffer a batch, no copies.
// Bounded in number and bytes. What collects while the journal syncs for long is several batches:
// to store them all at once would take the loop 20 ms. Not thread-safe: it belongs to the node's
// thread.
class Mailbox {
 public:
  struct Limits {
    size_t commands_max = 65'536;
    size_t bytes_max = 16 * 1024 * 1024;
    size_t batch_bytes = 1024 * 1024;  // a batch with so many takes no further command
  };

  explicit Mailbox(const Limits& limits) : limits_(limits) {}

  // Puts the entry at the end; OVERLOADED when there is no room.
  std::expected<void, base::Error> put(const core::Entry& entry, bool needs_sync);

  // Moves the oldest batch of what has collected into `batch`, whose buffers serve for the next.
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

  bool empty() const { return commands_ == 0; }
  // What one more turn of the sockets brings still has room.
  bool half_full() const {
    return commands_ > limits_.commands_max / 2 || bytes_ > limits_.bytes_max / 2;
  }

 private:
  Limits limits_;
  std::deque<Batch> full_;  // oldest first
  Batch collecting_;
  size_t commands_ = 0;  // in all of them
  size_t bytes_ = 0;
};

}  // namespace parley::node
