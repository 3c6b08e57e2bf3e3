// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "edge/principal.h"

namespace parley::edge::mcp {

// Counts how many of something each principal has. Takes no memory for those who have none.
class PrincipalCounts {
 public:
  uint64_t of(const Principal& principal) const {
    const auto at = counts_.find(key(principal));
    return at == counts_.end() ? 0 : at->second;
  }
  void add(const Principal& principal) { ++counts_[key(principal)]; }
  void remove(const Principal& principal) {
    const auto at = counts_.find(key(principal));
    if (--at->second == 0) {
      counts_.erase(at);
    }
  }

 private:
  using Key = std::pair<core::WorkspaceId, core::AgentRef>;
  static Key key(const Principal& principal) { return {principal.workspace, principal.ref}; }

  std::map<Key, uint64_t> counts_;
};

}  // namespace parley::edge::mcp
