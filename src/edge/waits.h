// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/time.h"

namespace parley::edge {

// Things to do at a time, unless they are done before: the ends of long polls and waits.
class Waits {
 public:
  using Id = uint64_t;

  Id add(base::Time at, std::function<void()> ended) {
    const Id id = next_++;
    ends_.emplace(id, at);
    by_time_.emplace(std::pair{at, id}, std::move(ended));
    return id;
  }

  void remove(Id id) {
    if (const auto at = ends_.find(id); at != ends_.end()) {
      by_time_.erase({at->second, id});
      ends_.erase(at);
    }
  }

  // Runs what has ended; of very much that ends at once some, and the rest the next time.
  void run(base::Time now) {
    constexpr size_t ended_max = 128;
    for (size_t ended = 0; ended < ended_max && next() <= now; ++ended) {
      const auto node = by_time_.extract(by_time_.begin());
      ends_.erase(node.key().second);
      node.mapped()();
    }
  }

  base::Time next() const {
    return by_time_.empty() ? base::time_max : by_time_.begin()->first.first;
  }

 private:
  Id next_ = 1;
  std::map<std::pair<base::Time, Id>, std::function<void()>> by_time_;
  std::map<Id, base::Time> ends_;
};

}  // namespace parley::edge
