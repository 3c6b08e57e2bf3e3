// SPDX-License-Identifier: Apache-2.0
// Whether the tables of a snapshot agree with each other.
#include <algorithm>
#include <map>
#include <set>

#include "core/machine/snapshot.h"
#include "core/machine/tables.h"
#include "core/requests/pipeline_acts.h"

namespace parley::core {

namespace {

// Each thread has as many pending requests as it says.
bool counts_pending_requests(const Tables& t) {
  std::map<ThreadRef, uint32_t> pending;
  t.messages.each([&](MessageRef, const Message& message) {
    if (message.thread != none) {
      ++pending[message.thread];
    }
  });
  size_t active = 0;
  for (const auto& [ref, count] : pending) {
    active += t.threads[ref].pending == count ? 1 : 0;
  }
  return active == pending.size() && active == t.threads.count(Threads::Standing::active);
}

// What nothing needs any more is remembered, once, and nothing else is.
bool remembers_what_is_settled(const Tables& t) {
  std::set<MessageRef> remembered;
  for (uint32_t at = t.remembered.first(); at != none; at = t.remembered.next(at)) {
    const Message& message = t.messages.message(t.remembered[at].message);
    if (message.is_needed() || !remembered.insert(t.remembered[at].message).second) {
      return false;
    }
  }
  size_t settled = 0;
  t.messages.each(
      [&](MessageRef, const Message& message) { settled += message.is_needed() ? 0 : 1; });
  return settled == remembered.size();
}

// Each message that is watched has someone who waits for it, and the other way round.
bool watches_what_is_waited_for(const Tables& t) {
  std::set<Seq> wanted;
  for (const auto& [seq, wait] : t.pending.requests()) {
    wanted.insert(seq);
  }
  for (const auto& [seq, gather] : t.pending.gathers()) {
    if (gather.state == GatherState::open) {
      wanted.insert(seq);
    }
  }
  for (const auto& [seq, pipeline] : t.pending.pipelines()) {
    if (pipeline.waits_to_begin()) {
      wanted.insert(seq);
    }
  }
  size_t watched = 0;
  bool all_wanted = true;
  t.messages.each([&](MessageRef, const Message& message) {
    watched += message.watched ? 1 : 0;
    all_wanted = all_wanted && (!message.watched || wanted.contains(message.seq));
  });
  return all_wanted && watched == wanted.size();
}

// A stage that is owed is the next one of a pipeline that goes on, and the other way round.
bool owes_what_is_next(const Tables& t) {
  for (const auto& [id, item] : t.outbox.all()) {
    if (item.kind == OutboxKind::stage) {
      const auto at = t.pending.pipelines().find(pipeline_of(item));
      if (at == t.pending.pipelines().end() || at->second.is_over() ||
          at->second.outbox_item != id) {
        return false;
      }
    }
  }
  for (const auto& [seq, wait] : t.pending.requests()) {
    const auto at = t.pending.pipelines().find(wait.pipeline);
    if (at != t.pending.pipelines().end() && !at->second.is_over() &&
        (at->second.outbox_item != 0 || at->second.stages[at->second.stage].message != seq)) {
      return false;
    }
  }
  return std::ranges::all_of(t.pending.pipelines(), [&t](const auto& each) {
    const Pipeline& pipeline = each.second;
    const OutboxItem* const item = t.outbox.find(pipeline.outbox_item);
    return pipeline.is_over() || pipeline.outbox_item == 0 ||
           (item != nullptr && item->kind == OutboxKind::stage);
  });
}

bool is_registered(const Tables& t, std::string_view name) {
  const AgentRef ref = t.agents.find(name);
  return ref != none && t.agents[ref].is_registered();
}

// Who takes part in a session that is not over is there, and so are the messages in it that are not
// done with.
bool sessions_have_what_they_name(const Tables& t) {
  return std::ranges::all_of(t.sessions.all(), [&t](const auto& item) {
    const Session& session = item.second;
    const bool has_all = session.is_over() ||
                         std::ranges::all_of(session.participants, [&t](const std::string& name) {
                           return is_registered(t, name);
                         });
    return has_all && std::ranges::all_of(session.open, [&t](Seq seq) {
             const MessageRef ref = t.messages.find(seq);
             return ref != none && t.messages.message(ref).is_needed();
           });
  });
}

// What the paused sessions hold is held for that reason, and nothing else is.
bool holds_follow_from_sessions(const Tables& t) {
  size_t expected = 0;
  for (const auto& [began, session] : t.sessions.all()) {
    expected += session.status == SessionStatus::paused ? session.open.size() : 0;
  }
  size_t held = 0;
  for (const auto& [message, holds] : t.holds.all()) {
    for (const Hold& hold : holds) {
      if (hold.reason != HoldReason::session_paused) {
        continue;
      }
      const auto session = t.sessions.all().find(hold.by);
      if (session == t.sessions.all().end() || session->second.status != SessionStatus::paused ||
          !session->second.open.contains(message)) {
        return false;
      }
      ++held;
    }
  }
  return held == expected;
}

// Who has not got what people decided about a message is kept from it, and nobody else is.
bool holds_follow_from_decisions(const Tables& t) {
  std::set<std::pair<Seq, AgentRef>> expected;
  for (const auto& [notice, decided] : t.approvals.unread()) {
    expected.emplace(decided.message, t.agents.find(decided.receiver));
    const MessageRef ref = t.messages.find(notice);
    const AgentRef receiver = t.agents.find(decided.receiver);
    const DeliveryRef told =
        ref == none || receiver == none ? none : t.messages.delivery_to(ref, receiver);
    if (told == none || t.messages.delivery(told).state > State::delayed) {
      return false;
    }
  }
  std::set<std::pair<Seq, AgentRef>> held;
  for (const auto& [message, holds] : t.holds.all()) {
    for (const Hold& hold : holds) {
      if (hold.reason == HoldReason::decision) {
        held.emplace(message, hold.to);
      }
    }
  }
  return held == expected;
}

// What people have to approve is held for that reason, and nothing else is.
bool holds_follow_from_approvals(const Tables& t) {
  std::set<Seq> expected;
  for (const auto& [id, approval] : t.approvals.all()) {
    if (approval.is_open() && approval.held.n != 0) {
      expected.insert(approval.held);
    }
  }
  std::set<Seq> held;
  for (const auto& [message, holds] : t.holds.all()) {
    if (std::ranges::find(holds, HoldReason::approval, &Hold::reason) != holds.end()) {
      held.insert(message);
    }
  }
  // A timer that stands still waits for one of them.
  return held == expected && std::ranges::all_of(t.pending.requests(), [&](const auto& item) {
           return item.second.held.n == 0 || expected.contains(item.second.held);
         });
}

// Work under way is there and not done with; what a reviewer's challenge holds of it is held for
// that reason, and nothing else is. What people are to decide on has its escalation.
bool debates_have_what_they_name(const Tables& t) {
  size_t expected = 0;
  for (const auto& [thread, messages] : t.debates.work()) {
    expected += messages.size() * t.debates.holds_in(thread).size();
    for (const Seq seq : messages) {
      const MessageRef ref = t.messages.find(seq);
      if (ref == none || !t.messages.message(ref).is_needed()) {
        return false;
      }
    }
  }
  size_t held = 0;
  for (const auto& [message, holds] : t.holds.all()) {
    held += static_cast<size_t>(std::ranges::count(holds, HoldReason::challenge, &Hold::reason));
  }
  return held == expected && std::ranges::all_of(t.debates.all(), [&t](const auto& item) {
           const Debate& debate = item.second;
           const Escalation* const escalation = t.escalations.find(debate.escalation);
           return debate.state != DebateState::escalated ||
                  (escalation != nullptr && escalation->is_open() &&
                   escalation->debate == debate.id);
         });
}

// Who holds a lock or waits for one is there, and holds nothing greater than what it waits for.
bool locks_are_in_order(const Tables& t) {
  return std::ranges::all_of(t.locks.all(), [&t](const auto& item) {
    const Lock& lock = item.second;
    return is_registered(t, lock.owner) &&
           std::ranges::all_of(lock.line, [&](const Lock::Waiter& waiter) {
             const std::set<std::string>* const held = t.locks.held_by(waiter.agent);
             return is_registered(t, waiter.agent) &&
                    (held == nullptr || *held->rbegin() < lock.name);
           });
  });
}

// What is kept in memory only went to everyone, and someone has not settled it.
bool broadcasts_are_open(const Tables& t) {
  return std::ranges::all_of(t.broadcasts.all(), [&t](const auto& item) {
    const MessageRef ref = t.messages.find(item.first);
    return ref != none && t.messages.message(ref).is_memory_only() &&
           t.messages.message(ref).open > 0;
  });
}

}  // namespace

bool is_consistent(const Tables& t) {
  return watches_what_is_waited_for(t) && owes_what_is_next(t) && remembers_what_is_settled(t) &&
         counts_pending_requests(t) && sessions_have_what_they_name(t) &&
         debates_have_what_they_name(t) && holds_follow_from_sessions(t) &&
         holds_follow_from_approvals(t) && holds_follow_from_decisions(t) &&
         locks_are_in_order(t) && broadcasts_are_open(t) &&
         t.wait_graph.is_in_order();
}

}  // namespace parley::core
