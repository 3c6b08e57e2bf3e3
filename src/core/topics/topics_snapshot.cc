// SPDX-License-Identifier: Apache-2.0
#include "core/topics/topics_snapshot.h"

#include "core/machine/snapshot_fields.h"
#include "core/machine/tables.h"

namespace parley::core {

namespace {

bool add_topic(Tables& t, const Topic& row, std::vector<TopicRef>& refs) {
  if (t.topics.find(row.name) != none || is_pattern(row.name)) {
    return false;
  }
  const TopicRef ref = t.topics.intern(row.name, row.maker);
  t.topics[ref].published = row.published;
  for (const AgentRef subscriber : row.subscribers) {
    Agent& agent = t.agents[subscriber];
    if (!agent.is_registered() || !agent.subscriptions.emplace(row.name).second) {
      return false;
    }
    t.topics.subscribe(ref, subscriber);
  }
  refs.push_back(ref);
  return true;
}

}  // namespace

void encode_topics(const Tables& t, SnapshotWriter& out) { out.rows(out.topics, t.topics); }

void decode_topics(Tables& t, SnapshotReader& in) {
  in.rows<Topic>([&](const Topic& row) { return add_topic(t, row, in.topics); });
}

void encode_wildcards(const Tables& t, SnapshotWriter& out) {
  t.topics.wildcards().encode(t.agents, out.out);
}

void decode_wildcards(Tables& t, SnapshotReader& in) {
  if (!t.topics.wildcards().decode(t.agents, in.in)) {
    in.in.fail();
  }
}

}  // namespace parley::core
