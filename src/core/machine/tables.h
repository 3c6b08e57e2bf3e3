// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/agents/agents.h"
#include "core/conversation/locks.h"
#include "core/conversation/sessions.h"
#include "core/conversation/tasks.h"
#include "core/conversation/threads.h"
#include "core/delivery/broadcasts.h"
#include "core/delivery/dead_letters.h"
#include "core/delivery/messages.h"
#include "core/delivery/outbox.h"
#include "core/humans/escalations.h"
#include "core/model/rules.h"
#include "core/requests/patterns.h"
#include "core/requests/wait_graph.h"
#include "core/topics/topics.h"

namespace parley::core {

// A connection that messages are pushed to. What it holds is linked by Delivery::next, in the
// order in which its client saw it: first what was seen before this stream was opened, then what
// it handed out.
struct Stream {
  StreamId id;
  AgentRef agent = none;
  uint32_t window = 0;
  uint32_t held = 0;
  DeliveryRef first = none;
  DeliveryRef last_seen = none;  // of those that were seen before
  DeliveryRef last = none;
  ResumeMark after;         // what its client saw before
  uint32_t number = 0;      // its own in the workspace, in its marks
  uint32_t handed_out = 0;  // counted in its marks
};

class Streams {
 public:
  Stream& operator[](StreamRef ref) { return streams_[ref]; }
  const Stream& operator[](StreamRef ref) const { return streams_[ref]; }

  StreamRef find(const StreamId& id) const {
    const auto at = by_id_.find(id);
    return at == by_id_.end() ? none : at->second;
  }
  StreamRef add(const Stream& stream) {
    const StreamRef ref = streams_.add(stream);
    by_id_.emplace(stream.id, ref);
    return ref;
  }
  void remove(StreamRef ref) {
    by_id_.erase(streams_[ref].id);
    streams_.remove(ref);
  }

  const std::map<StreamId, StreamRef>& by_id() const { return by_id_; }
  size_t size() const { return by_id_.size(); }

  // A number that no stream of the workspace had.
  uint32_t new_number() { return ++numbered_ == 0 ? ++numbered_ : numbered_; }
  uint32_t numbered() const { return numbered_; }
  void set_numbered(uint32_t numbered) { numbered_ = numbered; }

 private:
  Slots<Stream> streams_;
  std::map<StreamId, StreamRef> by_id_;
  uint32_t numbered_ = 0;  // the newest number
};

// All state of one workspace: one table per concern. A new feature is a new table here, with its
// part in snapshot.cc.
struct Tables {
  explicit Tables(uint64_t hash_seed)
      : agents(hash_seed), messages(hash_seed), threads(hash_seed) {}

  Rules rules;
  Agents agents;
  Messages messages;
  Topics topics;
  Broadcasts broadcasts;
  Threads threads;
  DeadLetters dead_letters;
  Outbox outbox;
  Escalations escalations;
  Patterns patterns;
  Sessions sessions;
  Locks locks;
  Tasks tasks;
  Streams streams;
  Buckets buckets;
  Exchanges exchanges;
  WaitGraph waits;
  std::set<std::pair<Time, std::string>> silences;  // when to look whether an agent is still there
  std::set<std::pair<Time, std::string>> pressed;   // who is near its limits, until when at least
  uint64_t dead_letters_dropped = 0;
  Time now;  // of the newest entry

  // How much of queue_max is used. What waits outside of the inbox takes no room: what is tried
  // again, and the mail of a former agent of the name.
  uint64_t load_of(AgentRef agent) const {
    return agents[agent].inbox.unsettled - messages.outside_of(agent);
  }
};

}  // namespace parley::core
