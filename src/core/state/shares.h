// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "core/state/index.h"
#include "core/state/slots.h"

namespace parley::core {

// How much each principal holds of one thing that all share, and who holds most of it: what must go
// for room is of that one (docs/decisions/0020-shares.md). Holders are known by name. Their slots
// are good as long as they hold something, and must not show in anything that is compared or
// stored.
//
// "Most" is exact up to 63 things, and beyond that within a factor of two: holders stand in classes
// by the power of two of what they hold, and change their place only when that crosses one. So a
// change costs one look-up, and who holds less than half of the largest is never named.
class Shares {
 public:
  explicit Shares(uint64_t hash_seed = 0) : seed_(hash_seed) {}

  // Returns the holder's slot. A weight is never zero.
  uint32_t add(std::string_view name, uint64_t weight = 1);
  // It must hold that much.
  void remove(uint32_t holder, uint64_t weight = 1);
  void remove(std::string_view name, uint64_t weight = 1);

  uint32_t find(std::string_view name) const;  // none: it holds nothing
  uint64_t of(std::string_view name) const;
  uint64_t total() const { return total_; }
  size_t size() const { return holders_.size(); }
  // The first by name of the highest class; none when nobody holds anything.
  uint32_t most() const { return places_.empty() ? none : places_.begin()->holder; }
  // What that one holds.
  uint64_t most_weight() const { return most() == none ? 0 : holders_[most()].weight; }
  const std::string& name_of(uint32_t holder) const { return holders_[holder].name; }

 private:
  struct Holder {
    std::string name;
    uint64_t weight = 0;
  };
  // The largest first, then by name. The name is the holder's own, which never moves.
  struct Place {
    int size_class = 0;
    std::string_view name;
    uint32_t holder = none;

    bool operator<(const Place& other) const {
      return size_class != other.size_class ? size_class > other.size_class : name < other.name;
    }
  };

  uint64_t hash(std::string_view name) const;
  void set_weight(uint32_t holder, uint64_t weight);

  uint64_t seed_;
  uint64_t total_ = 0;
  Slots<Holder> holders_;
  Index by_name_;
  std::set<Place> places_;
};

}  // namespace parley::core
