// SPDX-License-Identifier: Apache-2.0
#include "core/handoffs/unfinished.h"

#include <map>
#include <string>
#include <vector>

#include "core/outbox/outbox_acts.h"

namespace parley::core {

namespace {

constexpr size_t named_max = 16;

// What the agent leaves undone of one giver's.
struct Left {
  int64_t count = 0;
  std::vector<std::string> ids;
  Seq first;
};

}  // namespace

size_t tell_unfinished(Dispatch& dispatch, std::string_view agent, std::string_view how) {
  Tables& t = dispatch.t;
  std::map<std::string, Left> by_giver;
  const std::set<Handoffs::Key>* const known = t.handoffs.of(agent);
  for (const Handoffs::Key& key : known == nullptr ? std::set<Handoffs::Key>{} : *known) {
    const Handoff& handoff = *t.handoffs.find(key);
    if (handoff.to != agent || handoff.is_report()) {
      continue;
    }
    Left& left = by_giver[handoff.from];
    left.first = left.count == 0 ? handoff.message : left.first;
    ++left.count;
    if (left.ids.size() < named_max) {
      left.ids.push_back(handoff.id);
    }
  }
  // Its spawner hears of it in any case.
  const AgentRef ref = t.agents.find(agent);
  if (ref != none && !t.agents[ref].spawner.empty()) {
    by_giver[t.agents[ref].spawner];
  }
  for (auto& [giver, left] : by_giver) {
    owe(dispatch, {.kind = OutboxKind::agent_session_ended,
                   .to = giver,
                   .about = left.first,
                   .priority = Priority::high,
                   .facts = {{"agent", std::string(agent)},
                             {"how", std::string(how)},
                             {"unanswered", left.count},
                             {"message_ids", std::move(left.ids)}}});
  }
  return by_giver.size();
}

}  // namespace parley::core
