// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"

namespace parley::node {

// Records that were read for someone who is about to look at them. Bounded: those that came first
// go first.
class WarmRecords {
 public:
  explicit WarmRecords(size_t bytes_max) : bytes_max_(bytes_max) {}

  void add(base::Seq seq, std::string payload) {
    const auto [at, is_new] = records_.try_emplace(seq, std::move(payload));
    if (!is_new) {
      return;
    }
    order_.push_back(seq);
    bytes_ += at->second.size();
    while (bytes_ > bytes_max_ && order_.size() > 1) {
      const auto oldest = records_.find(order_.front());
      bytes_ -= oldest->second.size();
      records_.erase(oldest);
      order_.pop_front();
    }
  }

  // Empty when it is not here (no record is empty). Good until the next add.
  std::string_view find(base::Seq seq) const {
    const auto at = records_.find(seq);
    return at == records_.end() ? std::string_view{} : at->second;
  }

 private:
  size_t bytes_max_;
  size_t bytes_ = 0;
  std::map<base::Seq, std::string> records_;
  std::deque<base::Seq> order_;
};

}  // namespace parley::node
