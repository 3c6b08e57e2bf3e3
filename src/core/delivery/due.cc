// SPDX-License-Identifier: Apache-2.0
// What time brings about: leases and delays that are over, messages that have waited too long.
#include "core/delivery/due.h"

#include <algorithm>

#include "core/limits/rate_limit.h"

namespace parley::core {

namespace {

// Whether the first that waits for the agent has not expired.
bool has_fresh(const Tables& t, AgentRef agent) {
  const DeliveryRef first = t.agents[agent].inbox.first();
  return first != none && t.messages.message_of(first).expires > t.now;
}

// What waits has waited too long: so many of its deliveries at most, and the rest stays due. What
// is held may still be finished: its lease decides. Returns how many deliveries it ended, at
// least 1.
size_t expire_message(Dispatch& dispatch, MessageRef ref, size_t count_max) {
  Tables& t = dispatch.t;
  size_t done = 0;
  for (DeliveryRef next = t.messages.message(ref).deliveries; next != none;) {
    const Delivery& delivery = t.messages.delivery(next);
    const DeliveryRef sibling = delivery.sibling;
    const bool was_delayed = delivery.state == State::delayed;
    const AgentRef receiver = delivery.receiver;
    if (!is_final(delivery.state) && !is_held(delivery.state)) {
      if (done == count_max) {
        return done;
      }
      const DeliveryRef first = t.agents[receiver].inbox.first();
      dispatch.dead_letter(next, Reason::ttl_expired, "expired before it was delivered");
      ++done;
      // It held its channel up; or what comes first now waited until it had expired, behind it or
      // behind a channel that was urgent because of it.
      const bool is_other = t.agents[receiver].inbox.first() != first;
      if (was_delayed || (is_other && has_fresh(t, receiver))) {
        dispatch.pump(receiver);
      }
    }
    next = sibling;
  }
  t.messages.deadlines.stop_expiry(ref);
  return std::max(done, size_t{1});
}

void delivery_due(Dispatch& dispatch, DeliveryRef ref) {
  Tables& t = dispatch.t;
  const Delivery& delivery = t.messages.delivery(ref);
  const AgentRef receiver = delivery.receiver;
  if (is_held(delivery.state)) {
    dispatch.give_back(ref, Duration{}, true, "the lease ended without an answer");
  } else if (delivery.gate == Gate::removed) {
    dispatch.dead_letter_removed(ref);
    return;
  } else if (is_tried(delivery.gate)) {
    dispatch.retry(ref);
    return;
  } else if (delivery.gate != Gate::open) {
    pass_gate(dispatch, ref);
    return;
  } else {
    Agent& agent = t.agents[receiver];
    agent.inbox.end_delay(t.messages, agent.discipline(), ref);
  }
  dispatch.pump(receiver);
}

}  // namespace

Time deliveries_due(const Tables& t) {
  const Deadlines& deadlines = t.messages.deadlines.all();
  return deadlines.empty() ? base::time_max : deadlines.first().at;
}

void advance_deliveries(Dispatch& dispatch) {
  const Deadlines& deadlines = dispatch.t.messages.deadlines.all();
  const Time now = dispatch.t.now;
  for (size_t left = due_max; left > 0 && !deadlines.empty() && deadlines.first().at <= now;) {
    const Deadlines::Due due = deadlines.first();
    if (due.minor == 0) {
      left -= expire_message(dispatch, due.slot, left);
    } else {
      delivery_due(dispatch, due.slot);
      --left;
    }
  }
}

void end_broadcasts(Dispatch& dispatch, uint64_t life) {
  Tables& t = dispatch.t;
  size_t left = due_max;
  for (const Seq seq : t.broadcasts.of(life)) {
    const MessageRef ref = t.messages.find(seq);
    t.messages.deadlines.set_expiry(ref, t.now);
    if (left > 0) {  // the others with the next ticks
      left -= expire_message(dispatch, ref, left);
    }
  }
}

}  // namespace parley::core
