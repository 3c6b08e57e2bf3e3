// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "core/slots.h"

namespace parley::core {

// Finds slots by the hash of a key that lies in the slot: eight bytes an entry, open addressing.
// There is no way to walk through it, so that its order cannot leak into the state. Several slots
// may share a hash or even a key.
class Index {
 public:
  void insert(uint64_t hash, uint32_t slot) {
    if ((used_ + 1) * 8 > cells_.size() * 7) {
      grow();
    }
    place(Cell{fold(hash), slot});
    ++used_;
  }

  void erase(uint64_t hash, uint32_t slot) {
    CHECK(!cells_.empty());
    const size_t mask = cells_.size() - 1;
    size_t at = fold(hash) & mask;
    while (cells_[at].slot != slot || cells_[at].hash != fold(hash)) {
      CHECK(cells_[at].slot != none);
      at = (at + 1) & mask;
    }
    close_gap(at);
    --used_;
  }

  // Calls `visit(slot)` for each slot that may have this hash, until it returns true.
  template <class Visit>
  void find(uint64_t hash, Visit&& visit) const {
    if (cells_.empty()) {
      return;
    }
    const size_t mask = cells_.size() - 1;
    for (size_t at = fold(hash) & mask; cells_[at].slot != none; at = (at + 1) & mask) {
      if (cells_[at].hash == fold(hash) && visit(cells_[at].slot)) {
        return;
      }
    }
  }

 private:
  struct Cell {
    uint32_t hash = 0;
    uint32_t slot = none;
  };

  static uint32_t fold(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }

  void place(Cell cell) {
    const size_t mask = cells_.size() - 1;
    size_t at = cell.hash & mask;
    while (cells_[at].slot != none) {
      at = (at + 1) & mask;
    }
    cells_[at] = cell;
  }

  void grow() {
    std::vector<Cell> old(cells_.empty() ? 16 : cells_.size() * 2);
    old.swap(cells_);
    for (const Cell cell : old) {
      if (cell.slot != none) {
        place(cell);
      }
    }
  }

  // Moves later cells of the run back, so that no search ends early at the emptied one.
  void close_gap(size_t gap) {
    const size_t mask = cells_.size() - 1;
    for (size_t at = (gap + 1) & mask; cells_[at].slot != none; at = (at + 1) & mask) {
      const size_t home = cells_[at].hash & mask;
      if (((at - home) & mask) >= ((at - gap) & mask)) {
        cells_[gap] = cells_[at];
        gap = at;
      }
    }
    cells_[gap] = Cell{};
  }

  std::vector<Cell> cells_;  // a power of two, or none
  size_t used_ = 0;
};

}  // namespace parley::core
