// SPDX-License-Identifier: Apache-2.0
#include "core/agents/directory.h"

#include "base/text.h"
#include "base/unicode/look_alike.h"

namespace parley::core {

namespace {

template <class Map, class Key>
void take_out(Map& map, const Key& key, AgentRef ref) {
  const auto found = map.find(key);
  if (found == map.end()) {
    return;
  }
  found->second.erase(ref);
  if (found->second.empty()) {
    map.erase(found);
  }
}

}  // namespace

void Directory::set_orchestrator(AgentRef ref, bool is_one) {
  if (is_one) {
    orchestrators_.insert(ref);
  } else {
    orchestrators_.erase(ref);
  }
}

void Directory::set_rights(AgentRef ref, uint8_t rights) {
  for (const Right right : {Right::approver, Right::moderator, Right::maintainer, Right::admin}) {
    take_out(by_right_, right, ref);
    if ((rights & static_cast<uint8_t>(right)) != 0) {
      by_right_[right].insert(ref);
    }
  }
}

void Directory::add(AgentRef ref, const Agent& agent) {
  by_length_[agent.name.size()].insert(ref);
  if (!base::is_ascii(agent.name)) {
    by_skeleton_[base::skeleton(agent.name)].insert(ref);
  }
}

void Directory::remove(AgentRef ref, const Agent& agent) {
  take_out(by_length_, agent.name.size(), ref);
  if (!base::is_ascii(agent.name)) {
    take_out(by_skeleton_, base::skeleton(agent.name), ref);
  }
  set_orchestrator(ref, false);
  set_rights(ref, 0);
  change_capabilities(ref, agent.capabilities, {});
}

void Directory::change_capabilities(AgentRef ref, const std::vector<std::string>& from,
                                    const std::vector<std::string>& to) {
  for (const std::string& capability : from) {
    take_out(by_capability_, capability, ref);
  }
  for (const std::string& capability : to) {
    by_capability_[capability].insert(ref);
  }
}

}  // namespace parley::core
