// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace parley::node {

// The newest records, kept in memory because most messages are delivered right after they were
// sent. Bounded: whole chunks of the oldest go.
class RecentRecords {
 public:
  explicit RecentRecords(size_t bytes_max) : bytes_max_(bytes_max) {}

  // `seq` is greater than any before.
  void add(base::Seq seq, std::string_view payload);

  // Empty when it is not here (no record is empty). Good until the next add.
  std::string_view find(base::Seq seq) const;

 private:
  struct Place {
    base::Seq seq;
    uint32_t offset;
    uint32_t size;
  };
  struct Chunk {
    std::string bytes;
    std::vector<Place> places;  // ascending
  };

  static constexpr size_t chunk_bytes = 256 * 1024;

  size_t bytes_max_;
  size_t bytes_ = 0;
  std::deque<Chunk> chunks_;  // oldest first; none is empty
};

}  // namespace parley::node
