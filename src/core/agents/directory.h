// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/agents/agent.h"

namespace parley::core {

// The registered principals by what they are, for those who look for one and know no name: so that
// nobody walks through all of them. A part of Agents, which keeps it in step. The order within a
// set has no meaning.
class Directory {
 public:
  using Refs = std::set<AgentRef>;

  // The principal is registered from now on, or no more.
  void add(AgentRef ref, const Agent& agent);
  void remove(AgentRef ref, const Agent& agent);

  void set_orchestrator(AgentRef ref, bool is_one);
  void set_rights(AgentRef ref, uint8_t rights);
  void change_capabilities(AgentRef ref, const std::vector<std::string>& from,
                           const std::vector<std::string>& to);

  const Refs& orchestrators() const { return orchestrators_; }  // by role
  const Refs& with_right(Right right) const { return find(by_right_, right); }
  const Refs& with_capability(std::string_view capability) const {
    return find(by_capability_, capability);
  }
  // Those whose names have so many bytes.
  const Refs& of_length(size_t bytes) const { return find(by_length_, bytes); }
  // Those whose names are not ASCII and look like this (base::skeleton).
  const Refs& looking_like(std::string_view skeleton) const { return find(by_skeleton_, skeleton); }

 private:
  template <class Map, class Key>
  static const Refs& find(const Map& map, const Key& key) {
    static const Refs nobody;
    const auto found = map.find(key);
    return found == map.end() ? nobody : found->second;
  }

  Refs orchestrators_;
  // Sets that are not empty.
  std::map<Right, Refs> by_right_;
  std::map<size_t, Refs> by_length_;
  std::map<std::string, Refs, std::less<>> by_capability_;
  std::map<std::string, Refs, std::less<>> by_skeleton_;
};

}  // namespace parley::core
