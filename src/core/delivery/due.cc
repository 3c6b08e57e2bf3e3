// SPDX-License-Identifier: Apache-2.0
// What time brings about: leases and delays that are over, messages that have waited too long.
#include <algorithm>

#include "core/delivery/dispatch.h"

namespace parley::core {

namespace {

// Whether the first that waits for the agent has not expired.
bool has_fresh(const Tables& t, AgentRef agent) {
  const DeliveryRef first = t.agents[agent].inbox.first();
  return first != none && t.messages.message_of(first).expires > t.now;
}

}  // namespace

void Dispatch::advance() {
  relieve_all();
  const Deadlines& deadlines = t_.messages.deadlines();
  for (size_t left = due_max; left > 0 && !deadlines.empty() && deadlines.first().at <= t_.now;) {
    const Deadlines::Due due = deadlines.first();
    if (due.minor == 0) {
      left -= expire(due.slot, left);
    } else {
      on_due(due.slot);
      --left;
    }
  }
  close_old_threads();
  mind_sessions();
  mind_locks();
  retry_dead_letters();
}

// What waits has waited too long: so many of its deliveries at most, and the rest stays due. What
// is held may still be finished: its lease decides. Returns how many it were, one at least.
size_t Dispatch::expire(MessageRef ref, size_t count_max) {
  size_t done = 0;
  for (DeliveryRef next = t_.messages.message(ref).deliveries; next != none;) {
    const Delivery& delivery = t_.messages.delivery(next);
    const DeliveryRef sibling = delivery.sibling;
    const bool was_delayed = delivery.state == State::delayed;
    const AgentRef receiver = delivery.receiver;
    if (!is_final(delivery.state) && !is_held(delivery.state)) {
      if (done == count_max) {
        return done;
      }
      const DeliveryRef first = t_.agents[receiver].inbox.first();
      dead_letter(next, Reason::ttl_expired, "expired before it was delivered");
      ++done;
      // It held its channel up; or what comes first now waited until it had expired, behind it or
      // behind a channel that was urgent because of it.
      const bool is_other = t_.agents[receiver].inbox.first() != first;
      if (was_delayed || (is_other && has_fresh(t_, receiver))) {
        pump(receiver);
      }
    }
    next = sibling;
  }
  t_.messages.stop_expiry(ref);
  return std::max(done, size_t{1});
}

void Dispatch::end_broadcasts(uint64_t life) {
  size_t left = due_max;
  for (const Seq seq : t_.broadcasts.of(life)) {
    const MessageRef ref = t_.messages.find(seq);
    t_.messages.set_expiry(ref, t_.now);
    if (left > 0) {  // the others with the next ticks
      left -= expire(ref, left);
    }
  }
}

void Dispatch::on_due(DeliveryRef ref) {
  const Delivery& delivery = t_.messages.delivery(ref);
  const AgentRef receiver = delivery.receiver;
  if (is_held(delivery.state)) {
    give_back(ref, Duration{}, true, "the lease ended without an answer");
  } else if (delivery.gate == Gate::removed) {
    dead_letter_removed(ref);
    return;
  } else if (is_tried(delivery.gate)) {
    try_delivery(ref);
    return;
  } else if (delivery.gate != Gate::open) {
    pass(ref);
    return;
  } else {
    Agent& agent = t_.agents[receiver];
    agent.inbox.end_delay(t_.messages, agent.discipline(), ref);
  }
  pump(receiver);
}

}  // namespace parley::core
