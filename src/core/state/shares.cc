// SPDX-License-Identifier: Apache-2.0
#include "core/state/shares.h"

#include <bit>

#include "base/check.h"
#include "base/hash.h"

namespace parley::core {

namespace {

// Up to `exact_max` each weight is a class of its own, so that the order is exact in small tables.
// Beyond it, where a change of place for each message would cost, a class is a power of two.
int class_of(uint64_t weight) {
  constexpr uint64_t exact_max = 63;
  return static_cast<int>(weight <= exact_max ? weight : exact_max + std::bit_width(weight));
}

}  // namespace

uint64_t Shares::hash(std::string_view name) const { return base::hash64(name, seed_); }

uint32_t Shares::find(std::string_view name) const {
  uint32_t found = none;
  by_name_.find(hash(name), [&](uint32_t holder) {
    if (holders_[holder].name == name) {
      found = holder;
    }
    return found != none;
  });
  return found;
}

uint64_t Shares::of(std::string_view name) const {
  const uint32_t holder = find(name);
  return holder == none ? 0 : holders_[holder].weight;
}

uint32_t Shares::add(std::string_view name, uint64_t weight) {
  CHECK(weight > 0);
  uint32_t holder = find(name);
  if (holder == none) {
    holder = holders_.add(Holder{.name = std::string(name)});
    by_name_.insert(hash(name), holder);
  }
  total_ += weight;
  set_weight(holder, holders_[holder].weight + weight);
  return holder;
}

void Shares::remove(uint32_t holder, uint64_t weight) {
  CHECK(holders_[holder].weight >= weight);
  total_ -= weight;
  set_weight(holder, holders_[holder].weight - weight);
  if (holders_[holder].weight == 0) {
    by_name_.erase(hash(holders_[holder].name), holder);
    holders_.remove(holder);
  }
}

void Shares::remove(std::string_view name, uint64_t weight) {
  const uint32_t holder = find(name);
  CHECK(holder != none);
  remove(holder, weight);
}

void Shares::set_weight(uint32_t slot, uint64_t weight) {
  Holder& holder = holders_[slot];
  const int before = class_of(holder.weight);
  const int after = class_of(weight);
  holder.weight = weight;
  if (before == after) {
    return;
  }
  if (before == 0) {
    places_.insert(Place{after, holder.name, slot});
    return;
  }
  auto place = places_.extract(Place{before, holder.name, slot});
  CHECK(!place.empty());
  if (after > 0) {  // moved without an allocation: it may come and go at a border
    place.value().size_class = after;
    places_.insert(std::move(place));
  }
}

}  // namespace parley::core
