// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"

namespace parley::core {

// No slot.
constexpr uint32_t none = UINT32_MAX;

// Holds many values of one type in blocks that never move, named by small numbers. Numbers of
// removed values are used again, so they must not show in anything that is compared or stored.
template <class T>
class Slots {
 public:
  uint32_t add(T value) {
    if (free_.empty()) {
      grow();
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    (*this)[slot] = std::move(value);
    ++size_;
    return slot;
  }

  void remove(uint32_t slot) {
    (*this)[slot] = T{};
    free_.push_back(slot);
    --size_;
  }

  T& operator[](uint32_t slot) { return blocks_[slot / block_size][slot % block_size]; }
  const T& operator[](uint32_t slot) const { return blocks_[slot / block_size][slot % block_size]; }

  // Calls `visit` for every slot, also for those that are free: they hold a T{}.
  template <class Visit>
  void each(Visit&& visit) const {
    for (uint32_t slot = 0; slot < blocks_.size() * block_size; ++slot) {
      visit(slot, (*this)[slot]);
    }
  }

  size_t size() const { return size_; }

 private:
  static constexpr uint32_t block_size = 64;  // small: most workspaces are

  void grow() {
    const size_t first = blocks_.size() * block_size;
    CHECK(first + block_size < none);
    blocks_.push_back(std::make_unique<T[]>(block_size));
    for (uint32_t n = block_size; n > 0; --n) {
      free_.push_back(static_cast<uint32_t>(first) + n - 1);
    }
  }

  std::vector<std::unique_ptr<T[]>> blocks_;
  std::vector<uint32_t> free_;
  size_t size_ = 0;
};

}  // namespace parley::core
