// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace parley::sim {

// All chance of a run, from one seed: splitmix64, the same with every library and on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  // From 0 to n - 1; `n` is not 0. The bias of the remainder does not matter here.
  uint64_t below(uint64_t n) { return next() % n; }

  // True in `per_mille` of a thousand calls.
  bool chance(uint32_t per_mille) { return below(1'000) < per_mille; }

  // One of the items of an array, vector or span that is not empty.
  template <class Items>
  const auto& pick(const Items& items) {
    return items[static_cast<size_t>(below(items.size()))];
  }

 private:
  uint64_t state_;
};

}  // namespace parley::sim
