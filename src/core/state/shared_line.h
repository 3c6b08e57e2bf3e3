// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/state/shares.h"
#include "core/state/slots.h"

namespace parley::core {

// Things of many owners in the order in which they came: all of them, and those of each owner. When
// there are too many, the oldest of whoever holds most goes, and not the oldest of all. Every
// operation takes the same time however long it is.
template <class T>
class SharedLine {
 public:
  explicit SharedLine(uint64_t hash_seed = 0) : shares_(hash_seed) {}

  // At the end. Returns its slot.
  uint32_t add(std::string_view owner, T value, uint64_t weight = 1) {
    const uint32_t holder = shares_.add(owner, weight);
    if (holder >= lines_.size()) {
      lines_.resize(holder + 1);
    }
    const uint32_t at = items_.add(
        Item{.value = std::move(value), .weight = static_cast<uint32_t>(weight), .holder = holder});
    append(all_, &Item::in_all, at);
    append(lines_[holder], &Item::in_own, at);
    return at;
  }

  void remove(uint32_t at) {
    const uint32_t holder = items_[at].holder;
    unlink(all_, &Item::in_all, at);
    unlink(lines_[holder], &Item::in_own, at);
    shares_.remove(holder, items_[at].weight);
    items_.remove(at);
  }

  void move_to_end(uint32_t at) {
    if (all_.last == at) {
      return;
    }
    unlink(all_, &Item::in_all, at);
    append(all_, &Item::in_all, at);
    List& own = lines_[items_[at].holder];
    unlink(own, &Item::in_own, at);
    append(own, &Item::in_own, at);
  }

  const T& operator[](uint32_t at) const { return items_[at].value; }
  uint32_t weight(uint32_t at) const { return items_[at].weight; }

  // none where there is none.
  uint32_t first() const { return all_.first; }
  uint32_t next(uint32_t at) const { return items_[at].in_all.after; }
  uint32_t first_of(std::string_view owner) const {
    const uint32_t holder = shares_.find(owner);
    return holder == none ? none : lines_[holder].first;
  }
  uint32_t next_of_owner(uint32_t at) const { return items_[at].in_own.after; }
  uint32_t first_of_most() const {
    const uint32_t holder = shares_.most();
    return holder == none ? none : lines_[holder].first;
  }

  const Shares& shares() const { return shares_; }
  size_t size() const { return items_.size(); }

 private:
  struct Link {
    uint32_t before = none;
    uint32_t after = none;
  };
  struct Item {
    T value{};
    uint32_t weight = 0;
    uint32_t holder = none;
    Link in_all{};
    Link in_own{};
  };
  struct List {
    uint32_t first = none;
    uint32_t last = none;
  };

  void append(List& list, Link Item::*link, uint32_t at) {
    items_[at].*link = Link{.before = list.last};
    (list.last == none ? list.first : (items_[list.last].*link).after) = at;
    list.last = at;
  }

  void unlink(List& list, Link Item::*link, uint32_t at) {
    const Link gone = items_[at].*link;
    (gone.before == none ? list.first : (items_[gone.before].*link).after) = gone.after;
    (gone.after == none ? list.last : (items_[gone.after].*link).before) = gone.before;
  }

  Shares shares_;
  Slots<Item> items_;
  List all_;
  std::vector<List> lines_;  // by holder; empty where a slot is free
};

}  // namespace parley::core
