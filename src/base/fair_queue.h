// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace parley::base {

// Things that wait, in a line for each key. It is the turn of the key that has cost least so far:
// who asks for less than an even share is served at once, however many others have thousands in
// line. Each costs one, and what it is charged for: where nothing is charged, the keys take turns.
// Who was away has saved nothing up, but may cost `credit` ahead of its turn. `push` and `pop` take
// time with the logarithm of the number of keys.
template <class Item>
class FairQueue {
 public:
  explicit FairQueue(uint64_t credit = 0) : credit_(credit) {}

  void push(uint64_t key, Item item) {
    Line& line = lines_[key];
    if (line.items.empty()) {
      line.spent = std::max(line.spent, now_);
      enter(key, line);
    }
    line.items.push_back(std::move(item));
    ++size_;
  }

  // The first in the line of the key whose turn it is, at the cost of one. Only where it is not
  // empty.
  Item pop() {
    const auto first = turns_.begin();
    const uint64_t key = first->key;
    now_ = first->at;
    turns_.erase(first);
    Line& line = lines_.find(key)->second;
    Item item = std::move(line.items.front());
    line.items.pop_front();
    --size_;
    ++line.spent;
    if (!line.items.empty()) {
      enter(key, line);
    }
    forget();
    return item;
  }

  // What was popped last of this key has cost so much more.
  void charge(uint64_t key, uint64_t cost) {
    const auto at = lines_.find(key);
    if (at == lines_.end()) {
      return;
    }
    Line& line = at->second;
    if (!line.items.empty()) {
      turns_.erase(line.turn);
    }
    line.spent += cost;
    if (!line.items.empty()) {
      enter(key, line);
    }
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

 private:
  // Of the same moment who has cost less comes first, then who came first.
  struct Turn {
    uint64_t at = 0;
    uint64_t spent = 0;
    uint64_t order = 0;
    uint64_t key = 0;

    bool operator<(const Turn& other) const {
      return std::tuple(at, spent, order) < std::tuple(other.at, other.spent, other.order);
    }
  };
  struct Line {
    std::deque<Item> items;
    uint64_t spent = 0;  // never less than `now_` was when it came last
    Turn turn;           // while there are items
  };

  void enter(uint64_t key, Line& line) {
    const uint64_t paid = line.spent - std::min(line.spent, credit_);
    line.turn = {std::max(paid, now_), line.spent, ++orders_, key};
    turns_.insert(line.turn);
  }

  // Lines without anything that have nothing to make up for. Seldom, so that it costs each `pop`
  // little.
  void forget() {
    if (lines_.size() < forgets_at_) {
      return;
    }
    std::erase_if(lines_, [this](const auto& each) {
      return each.second.items.empty() && each.second.spent <= now_;
    });
    forgets_at_ = 2 * lines_.size() + 64;
  }

  std::unordered_map<uint64_t, Line> lines_;
  std::set<Turn> turns_;  // of the lines that are not empty
  uint64_t credit_;
  uint64_t now_ = 0;      // the turn that was last
  uint64_t orders_ = 0;
  size_t size_ = 0;
  size_t forgets_at_ = 64;
};

}  // namespace parley::base
