// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/agents/agents.h"
#include "core/conversation/locks.h"
#include "core/conversation/sessions.h"
#include "core/conversation/tasks.h"
#include "core/conversation/threads.h"
#include "core/dead_letters/dead_letters.h"
#include "core/debates/debates.h"
#include "core/delivery/broadcasts.h"
#include "core/delivery/forgetting.h"
#include "core/delivery/streams.h"
#include "core/handoffs/handoffs.h"
#include "core/holds/holds.h"
#include "core/humans/approvals.h"
#include "core/humans/escalations.h"
#include "core/messages/messages.h"
#include "core/model/rules.h"
#include "core/moderation/flags.h"
#include "core/outbox/outbox.h"
#include "core/requests/pending_work.h"
#include "core/requests/wait_graph.h"
#include "core/state/due_names.h"
#include "core/state/shared_line.h"
#include "core/topics/topics.h"

namespace parley::core {

// All state of one workspace: one table per concern. A new feature is a new table here, with its
// rows in core/machine/rooms.h.
struct Tables {
  explicit Tables(uint64_t hash_seed)
      : agents(hash_seed), messages(hash_seed), threads(hash_seed), remembered(hash_seed) {}

  Rules rules;
  Agents agents;
  Messages messages;
  Topics topics;
  Broadcasts broadcasts;
  Threads threads;
  DeadLetters dead_letters;
  Outbox outbox;
  Escalations escalations;
  Debates debates;
  Handoffs handoffs;
  Approvals approvals;
  Flags flags;
  PendingWork pending;
  Sessions sessions;
  Holds holds;
  Locks locks;
  Tasks tasks;
  Streams streams;
  Buckets buckets;
  Rebooking rebooking;
  Exchanges exchanges;
  WaitGraph wait_graph;
  SharedLine<Remembered> remembered;  // settled messages, by sender: oldest first
  DueNames silences;  // when to look whether an agent is still there: core/agents/presence.h
  DueNames untold;    // whose availability is told later: the same
  DueNames violated;  // whose violations are told next: core/agents/hub.h
  DueNames pressed;  // who is near its limits, until when at least: core/limits/backpressure_acts.h
  Time now;          // of the newest entry

  // How much of queue_max is used. What waits outside of the inbox takes no room: what is tried
  // again, and the mail of a former agent of the name.
  uint64_t load_of(AgentRef agent) const {
    return agents[agent].inbox.unsettled - messages.gates.outside_of(agent);
  }
  // Whether the receiver's inbox takes one more of this sender. The last part of an inbox is for
  // those who have little there, so that nobody can fill it for all others.
  bool has_room(AgentRef receiver, AgentRef sender) const {
    const uint64_t load = load_of(receiver);
    const uint64_t kept = rules.queue_max * rules.share_percent / 100;
    return load < rules.queue_max && (load + kept < rules.queue_max || sender == none ||
                                      has_there(receiver, sender) < share_of(rules, kept));
  }
  // How much of the receiver's inbox this sender uses.
  uint64_t has_there(AgentRef receiver, AgentRef sender) const {
    return agents[receiver].inbox.senders.of(sender) - messages.gates.outside_of(receiver, sender);
  }
};

// Whether a former principal of its sender's name sent it, which was removed since.
inline bool is_of_former(const Tables& t, MessageRef ref) {
  const Message& message = t.messages.message(ref);
  return message.seq < t.agents[message.sender].since;
}

}  // namespace parley::core
