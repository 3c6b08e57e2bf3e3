// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/threads_snapshot.h"

#include <algorithm>
#include <set>

#include "core/machine/snapshot_fields.h"
#include "core/machine/tables.h"

namespace parley::core {

namespace {

bool has_one_twice(std::vector<AgentRef> agents) {
  std::ranges::sort(agents);
  return std::ranges::adjacent_find(agents) != agents.end();
}

// Puts the threads into the order that each standing has; each thread has one place in one of them.
void decode_standings(Tables& t, SnapshotReader& in) {
  std::set<ThreadRef> placed;
  for (size_t n = 0; n < Threads::standing_count; ++n) {
    const auto standing = static_cast<Threads::Standing>(n);
    size_t left = in.in.count();
    if (left != t.threads.count(standing)) {
      in.in.fail();
    }
    for (; left > 0 && in.in.ok(); --left) {
      const ThreadRef ref = in.slot_at(in.threads);
      if (!in.in.ok() || t.threads.standing_of(ref) != standing || !placed.insert(ref).second) {
        return in.in.fail();
      }
      t.threads.move_to_end(ref);
    }
  }
}

}  // namespace

void encode_threads(const Tables& t, SnapshotWriter& out) {
  out.rows(out.threads, t.threads);
  // The order in each standing decides who is forgotten first.
  for (size_t n = 0; n < Threads::standing_count; ++n) {
    const auto standing = static_cast<Threads::Standing>(n);
    out.out.varint(t.threads.count(standing));
    for (ThreadRef ref = t.threads.first(standing); ref != none; ref = t.threads.next(ref)) {
      out.out.varint(out.threads.of(ref));
    }
  }
}

void decode_threads(Tables& t, SnapshotReader& in) {
  Seq root;
  in.rows<Thread>([&](Thread& thread) {
    if (thread.root <= root || thread.participants.empty() || has_one_twice(thread.participants) ||
        t.threads.find(thread.name) != none) {
      return false;
    }
    root = thread.root;
    for (const AgentRef agent : thread.participants) {
      t.agents.use(agent);
    }
    thread.owner_name = t.agents[thread.participants.front()].name;
    in.threads.push_back(t.threads.add(std::move(thread)));
    return true;
  });
  decode_standings(t, in);
}

}  // namespace parley::core
