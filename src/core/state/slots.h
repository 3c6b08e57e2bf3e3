// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "base/check.h"
#include "core/state/blocks.h"

namespace parley::core {

// No slot.
constexpr uint32_t none = UINT32_MAX;

// Holds many values of one type that never move, named by small numbers. Numbers of removed values
// are used again, so they must not show in anything that is compared or stored.
template <class T>
class Slots {
 public:
  uint32_t add(T value) {
    if (free_.empty()) {
      CHECK(values_.size() < none);
      values_.push_back(std::move(value));
      return static_cast<uint32_t>(values_.size() - 1);
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    values_[slot] = std::move(value);
    return slot;
  }

  void remove(uint32_t slot) {
    values_[slot] = T{};
    free_.push_back(slot);
  }

  T& operator[](uint32_t slot) { return values_[slot]; }
  const T& operator[](uint32_t slot) const { return values_[slot]; }

  // Calls `visit` for every slot, also for those that are free: they hold a T{}.
  template <class Visit>
  void each(Visit&& visit) const {
    for (uint32_t slot = 0; slot < values_.size(); ++slot) {
      visit(slot, values_[slot]);
    }
  }

  size_t size() const { return values_.size() - free_.size(); }
  // Beyond the last slot.
  uint32_t end() const { return static_cast<uint32_t>(values_.size()); }

 private:
  Blocks<T> values_;
  Blocks<uint32_t> free_;
};

}  // namespace parley::core
