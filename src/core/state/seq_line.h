// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace parley::core {

// Slots in the order of their places in the journal, in parts that lie side by side: most are added
// at the end, and are read from there. What is added or taken out anywhere moves one part, however
// long the line is; a slot takes a few bytes.
class SeqLine {
 public:
  // A place is there once.
  void insert(base::Seq seq, uint32_t slot) {
    ++size_;
    auto at = part_of(seq);
    const bool is_last = at == parts_.end() || std::next(at) == parts_.end();
    if (at == parts_.end() ||
        (is_last && at->second.size() >= part_max && at->second.back().seq < seq)) {
      // The parts that a line grows by are full: a split would leave each half empty.
      parts_.emplace_hint(parts_.end(), seq, Part{{seq, slot}});
      return;
    }
    if (at->second.size() >= part_max) {
      at = split(at, seq);
    }
    Part& part = at->second;
    part.insert(std::ranges::upper_bound(part, seq, {}, &Item::seq), {seq, slot});
    if (seq < at->first) {
      auto node = parts_.extract(at);
      node.key() = seq;
      parts_.insert(std::move(node));
    }
  }

  // It must be there.
  void erase(base::Seq seq) {
    const auto at = part_of(seq);
    CHECK(at != parts_.end());
    Part& part = at->second;
    const auto found = std::ranges::lower_bound(part, seq, {}, &Item::seq);
    CHECK(found != part.end() && found->seq == seq);
    part.erase(found);
    --size_;
    if (part.empty()) {
      parts_.erase(at);
    } else if (part.size() <= part_max / 4) {
      shrink(at);
    }
  }

  // Calls `visit(slot)` for those before the place, the newest first, until it returns false.
  template <class Visit>
  void each_before(base::Seq end, Visit&& visit) const {
    for (auto at = parts_.lower_bound(end); at != parts_.begin();) {
      --at;
      const Part& part = at->second;
      for (auto item = std::ranges::lower_bound(part, end, {}, &Item::seq); item != part.begin();) {
        --item;
        if (!visit(item->slot)) {
          return;
        }
      }
    }
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

 private:
  struct Item {
    base::Seq seq;
    uint32_t slot;
  };
  using Part = std::vector<Item>;
  using Parts = std::map<base::Seq, Part>;
  static constexpr size_t part_max = 128;

  // Where the place is or belongs; the end when there are no parts.
  Parts::iterator part_of(base::Seq seq) {
    const auto after = parts_.upper_bound(seq);
    return after == parts_.begin() ? after : std::prev(after);
  }

  // Halves a full part. Returns the half in which the place belongs.
  Parts::iterator split(Parts::iterator at, base::Seq seq) {
    Part& part = at->second;
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    const base::Seq first = middle->seq;
    const auto half = parts_.emplace_hint(std::next(at), first, Part(middle, part.end()));
    part.erase(middle, part.end());
    return seq < first ? at : half;
  }

  // Joins a part of which little is left to the one before it, or gives back its room: parts that
  // hold little would cost as much as full ones.
  void shrink(Parts::iterator at) {
    Part& part = at->second;
    if (at != parts_.begin() && std::prev(at)->second.size() + part.size() <= part_max / 2) {
      Part& before = std::prev(at)->second;
      before.insert(before.end(), part.begin(), part.end());
      parts_.erase(at);
    } else if (part.capacity() > 2 * part.size()) {
      part.shrink_to_fit();
    }
  }

  Parts parts_;  // by the first place of each, or one before it
  size_t size_ = 0;
};

}  // namespace parley::core
