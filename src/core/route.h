// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/workspace.h"

namespace parley::core {

// Who gets a message: a topic's subscribers, everyone, or the agents named.
struct Workspace::Route {
  std::string_view topic;  // empty: none
  bool everyone = false;
  std::vector<AgentRef> agents;           // registered
  std::vector<std::string_view> unknown;  // names that no one has

  // One receiver by name: what it cannot take is refused instead of becoming a dead letter.
  bool is_one() const {
    return agents.size() == 1 && unknown.empty() && topic.empty() && !everyone;
  }
};

}  // namespace parley::core
