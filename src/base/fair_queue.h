// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

namespace parley::base {

// Things that wait, in a line for each key. The keys take turns: who has thousands in line holds up
// each of the others by one. Both `push` and `pop` take constant time.
template <class Item>
class FairQueue {
 public:
  void push(uint64_t key, Item item) {
    Line& line = lines_[key];
    if (line.items.empty()) {
      turns_.push_back(key);
    }
    line.items.push_back(std::move(item));
    ++size_;
  }

  // The first in the line of the key whose turn it is; then it is the turn of the next key. Only
  // where it is not empty.
  Item pop() {
    const uint64_t key = turns_.front();
    turns_.pop_front();
    const auto at = lines_.find(key);
    Line& line = at->second;
    Item item = std::move(line.items[line.begin++]);
    --size_;
    if (line.begin == line.items.size()) {
      lines_.erase(at);
    } else {
      turns_.push_back(key);
      line.trim();
    }
    return item;
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // How many keys have something in line.
  size_t keys() const { return turns_.size(); }

 private:
  struct Line {
    std::vector<Item> items;
    size_t begin = 0;  // those before it were popped

    // Many at a time, so that each is moved about once.
    void trim() {
      if (begin > 32 && begin > items.size() / 2) {
        items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(begin));
        begin = 0;
      }
    }
  };

  std::unordered_map<uint64_t, Line> lines_;  // none is empty
  std::deque<uint64_t> turns_;                // each key that has a line, the next one first
  size_t size_ = 0;
};

}  // namespace parley::base
