// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/check.h"
#include "edge/principal.h"

namespace parley::edge::mcp {

// Counts how many of something each principal has. Takes no memory for those who have none.
class PrincipalCounts {
 public:
  uint64_t of(const Principal& principal) const {
    const auto at = counts_.find(key(principal));
    return at == counts_.end() ? 0 : at->second;
  }
  uint64_t all() const { return all_; }
  void add(const Principal& principal, uint64_t count = 1) {
    if (count > 0) {
      all_ += count;
      counts_[key(principal)] += count;
    }
  }
  // No more than it has.
  void remove(const Principal& principal, uint64_t count = 1) {
    if (count == 0) {
      return;
    }
    const auto at = counts_.find(key(principal));
    CHECK(at != counts_.end());
    CHECK(at->second >= count);
    at->second -= count;
    all_ -= count;
    if (at->second == 0) {
      counts_.erase(at);
    }
  }

 private:
  using Key = std::pair<core::WorkspaceId, core::AgentRef>;
  static Key key(const Principal& principal) { return {principal.workspace, principal.ref}; }

  std::map<Key, uint64_t> counts_;
  uint64_t all_ = 0;
};

}  // namespace parley::edge::mcp
