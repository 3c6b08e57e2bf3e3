// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ids.h"
#include "base/time.h"
#include "core/state/blocks.h"

namespace parley::core {

// What is due when. A heap with four children a node, in which any entry can be removed.
// Entries of one moment come out by `seq`, then `minor`: those two must be unique, and the same
// after a restart, which slots are not.
class Deadlines {
 public:
  struct Due {
    base::Time at;
    base::Seq seq;
    uint32_t minor;
    uint32_t slot;
  };

  // The number by which the entry can be removed.
  uint32_t add(const Due& due) {
    const uint32_t handle = free_.empty() ? static_cast<uint32_t>(place_.size()) : free_.back();
    if (free_.empty()) {
      place_.push_back(0);
    } else {
      free_.pop_back();
    }
    heap_.push_back(Item{due, handle});
    sift_up(heap_.size() - 1);
    return handle;
  }

  void remove(uint32_t handle) {
    const size_t at = place_[handle];
    const Item last = heap_.back();
    heap_.pop_back();
    free_.push_back(handle);
    if (at == heap_.size()) {
      return;
    }
    heap_[at] = last;
    place_[last.handle] = static_cast<uint32_t>(at);
    sift_up(at);
    sift_down(place_[last.handle]);
  }

  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  const Due& first() const { return heap_.front().due; }

 private:
  struct Item {
    Due due;
    uint32_t handle;
  };

  static bool before(const Item& a, const Item& b) {
    if (a.due.at != b.due.at) {
      return a.due.at < b.due.at;
    }
    return a.due.seq != b.due.seq ? a.due.seq < b.due.seq : a.due.minor < b.due.minor;
  }

  void put(size_t at, const Item& item) {
    heap_[at] = item;
    place_[item.handle] = static_cast<uint32_t>(at);
  }

  void sift_up(size_t at) {
    const Item item = heap_[at];
    while (at > 0 && before(item, heap_[(at - 1) / 4])) {
      put(at, heap_[(at - 1) / 4]);
      at = (at - 1) / 4;
    }
    put(at, item);
  }

  void sift_down(size_t at) {
    const Item item = heap_[at];
    while (true) {
      size_t least = 4 * at + 1;
      if (least >= heap_.size()) {
        break;
      }
      const size_t end = std::min(least + 4, heap_.size());
      for (size_t child = least + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) {
          least = child;
        }
      }
      if (!before(heap_[least], item)) {
        break;
      }
      put(at, heap_[least]);
      at = least;
    }
    put(at, item);
  }

  Blocks<Item> heap_;
  Blocks<uint32_t> place_;  // by handle
  Blocks<uint32_t> free_;   // handles
};

}  // namespace parley::core
