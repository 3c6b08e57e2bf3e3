// SPDX-License-Identifier: Apache-2.0
// How rate limits hold messages up: the gates between a send and the receiver's inbox.
#include "core/limits/rate_limit.h"

#include <algorithm>
#include <utility>

#include "core/limits/backpressure_acts.h"

namespace parley::core {

namespace {

// The rates bind the agents of dialects that have them. People and the admin are not paced: no
// person types that fast, and what operates the broker must get through.
bool is_paced(const Agent& sender, const Message& message) {
  return policy_of(sender.dialect).has_rates && sender.kind == PrincipalKind::agent &&
         message.priority != Priority::critical;
}

// A limit of the workspace, and what it allows in a minute.
struct Limit {
  Bucket& bucket;
  uint64_t per_min = 0;  // 0: there is none
};

// When the limit lets a message of this priority pass. Moves `relief` to when the bucket falls
// below the mark, where that is later.
Time take_tokens(const Tables& t, const Limit& limit, Priority priority, Time& relief) {
  if (limit.per_min == 0) {
    return t.now;
  }
  const Time there = limit.bucket.take(t.now, cost_of(priority, limit.per_min));
  relief = std::max(relief, limit.bucket.falls_to(signal_mark(t)));
  return there;
}

uint64_t channel_key(const Tables& t, const Message& message) {
  return message.everyone ? Buckets::everyone : Buckets::topic(t.topics[message.topic].name);
}

uint64_t channel_rate(const Tables& t, const Message& message) {
  return message.everyone ? t.rules.flow_rate_broadcast : t.rules.flow_rate_topic;
}

Time take_channel_tokens(Tables& t, const Message& message, Time& relief) {
  const uint64_t per_min = channel_rate(t, message);
  if (per_min == 0) {
    return t.now;
  }
  const uint64_t key = channel_key(t, message);
  return take_tokens(t, {t.buckets.at(key, t.now), per_min}, message.priority, relief);
}

// When the turn of a publication behind another of its sender's comes, as far as is known. Moves
// `relief` as the channel's limit will.
Time turn_of(const Tables& t, MessageRef ref, Time& relief) {
  const Message& message = t.messages.message(ref);
  const Time until =
      t.messages.gates.due_before(ref) + cost_of(message.priority, channel_rate(t, message));
  relief = std::max(relief, until + Duration{Bucket::minute.us - signal_mark(t).us});
  return until;
}

// From the gates before to that of its receiver, or through it.
void pass_on_gate(Dispatch& dispatch, DeliveryRef ref) {
  Tables& t = dispatch.t;
  const Delivery& delivery = t.messages.delivery(ref);
  const AgentRef receiver = delivery.receiver;
  Agent& agent = t.agents[receiver];
  if (delivery.gate != Gate::receiver) {
    Time relief;  // its sender was told when it sent
    const Time until = take_tokens(t, {agent.buckets.in, t.rules.flow_rate_in},
                                   t.messages.message_of(ref).priority, relief);
    if (until > t.now) {
      t.messages.gates.hold_up(ref, Gate::receiver, until);
      return;
    }
  }
  agent.inbox.end_delay(t.messages, agent.discipline(), ref);
  dispatch.pump(receiver);
}

}  // namespace

Passage enter_limits(Tables& t, MessageRef ref) {
  const Message& message = t.messages.message(ref);
  Agent& sender = t.agents[message.sender];
  Passage passage{.is_paced = is_paced(sender, message), .gate = Gate::sender, .until = t.now};
  if (!passage.is_paced) {
    return passage;
  }
  passage.relief = t.now;
  passage.until =
      take_tokens(t, {sender.buckets.out, t.rules.flow_rate_out}, message.priority, passage.relief);
  if (passage.until > t.now || !message.to_many()) {
    return passage;
  }
  if (t.messages.gates.is_behind(ref)) {
    passage.gate = Gate::turn;
    passage.until = turn_of(t, ref, passage.relief);
  } else {
    passage.gate = Gate::channel;
    passage.until = take_channel_tokens(t, message, passage.relief);
  }
  return passage;
}

bool throttle(Tables& t, DeliveryRef ref, Passage& passage) {
  Delivery& delivery = t.messages.delivery(ref);
  const Message& message = t.messages.message(delivery.message);
  Agent& receiver = t.agents[delivery.receiver];
  if (!passage.is_paced) {
    return false;
  }
  Gate gate = passage.gate;
  Time until = passage.until;
  if (!message.to_many() && t.rules.flow_rate_pair > 0) {
    const Seq since = is_of_former(t, delivery.message) ? Seq{} : t.agents[message.sender].since;
    const uint64_t key = Buckets::pair(since, receiver.since);
    until = std::max(until, take_tokens(t, {t.buckets.at(key, t.now), t.rules.flow_rate_pair},
                                        message.priority, passage.relief));
  }
  if (until <= t.now) {
    gate = Gate::receiver;
    until = take_tokens(t, {receiver.buckets.in, t.rules.flow_rate_in}, message.priority,
                        passage.relief);
  }
  if (until <= t.now) {
    return false;
  }
  t.messages.gates.hold_up(ref, gate, until);
  return true;
}

// What was held up before the limit of its channel goes on together: a publication counts once. One
// whose turn has not come looks again later, though it is woken when it comes.
void pass_gate(Dispatch& dispatch, DeliveryRef ref) {
  Tables& t = dispatch.t;
  const MessageRef message_ref = t.messages.delivery(ref).message;
  const Message& message = t.messages.message(message_ref);
  const Gate passed = t.messages.delivery(ref).gate;
  if (!is_before_channel(passed) || passed == Gate::channel || !message.to_many()) {
    pass_on_gate(dispatch, ref);
    return;
  }
  const bool is_behind = t.messages.gates.is_behind(message_ref);
  Time relief;
  const Time until = is_behind ? t.now + Bucket::minute : take_channel_tokens(t, message, relief);
  for (DeliveryRef next = message.deliveries; next != none;) {
    const Delivery& delivery = t.messages.delivery(next);
    const DeliveryRef each = next;
    next = delivery.sibling;
    if (!is_before_channel(delivery.gate) || delivery.gate == Gate::channel) {
      continue;
    }
    if (until > t.now) {
      t.messages.gates.hold_up(each, is_behind ? Gate::turn : Gate::channel, until);
    } else {
      pass_on_gate(dispatch, each);
    }
  }
}

void charge_redelivery(Tables& t, AgentRef ref) {
  const Agent& agent = t.agents[ref];
  if (const uint64_t per_min = t.rules.guard_redeliveries;
      per_min > 0 && agent.kind == PrincipalKind::agent) {
    (void)t.buckets.at(Buckets::redeliveries(agent.name), t.now).take(t.now, cost_of(1, per_min));
  }
}

std::expected<void, base::Error> check_redeliveries(const Tables& t, AgentRef ref, Time now) {
  const Agent& agent = t.agents[ref];
  const uint64_t per_min = t.rules.guard_redeliveries;
  const Duration used = t.buckets.used(Buckets::redeliveries(agent.name), now);
  if (per_min == 0 || agent.kind != PrincipalKind::agent || used.us < Bucket::minute.us) {
    return {};
  }
  return std::unexpected(base::Error{
      base::Code::rate_limited,
      "your streams have got messages again more often than the " + std::to_string(per_min) +
          " times that are allowed in a minute (guard.redeliveries_per_min); settle what "
          "they hold before you close them, or use a smaller window; an admin can raise it "
          "or reset you",
      {},
      Duration{used.us - Bucket::minute.us + 1}});
}

void restart_rate_limits(Dispatch& dispatch, Seq now) {
  Tables& t = dispatch.t;
  for (const AgentRef ref : t.agents.sorted()) {
    t.agents[ref].buckets = {};
  }
  t.buckets.clear();
  t.rebooking = {.next = {}, .end = now};
  advance_rebooking(dispatch);
}

// What has not been booked again waits where it was, as long as it had to.
void advance_rebooking(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  if (!t.rebooking.is_on()) {
    return;
  }
  const Rebooking rebooking = std::exchange(t.rebooking, {});
  MessageRef entered = none;
  Passage passage;
  const std::vector<DeliveryRef> refs =
      t.messages.gates.throttled_deliveries(rebooking.next, due_max);
  for (const DeliveryRef ref : refs) {
    const Delivery& delivery = t.messages.delivery(ref);
    const Seq seq = t.messages.message(delivery.message).seq;
    if (seq >= rebooking.end) {
      return;
    }
    t.rebooking = {.next = Seq{seq.n + 1}, .end = rebooking.end};
    if (delivery.gate == Gate::open) {
      continue;  // a critical one behind it is through, and let it go before
    }
    if (delivery.message != entered) {
      entered = delivery.message;
      passage = enter_limits(t, entered);
    }
    if (!throttle(t, ref, passage)) {
      Agent& agent = t.agents[delivery.receiver];
      agent.inbox.end_delay(t.messages, agent.discipline(), ref);
      dispatch.pump(delivery.receiver);
    }
  }
  if (refs.size() < due_max) {
    t.rebooking = {};
  }
}

Time rebooking_due(const Tables& t) { return t.rebooking.is_on() ? t.now : base::time_max; }

Duration delay_of(const Tables& t, MessageRef ref) {
  Time last = t.now;
  if (t.messages.gates.is_throttled(ref) || !t.messages.message(ref).to_many()) {
    for (DeliveryRef d = t.messages.message(ref).deliveries; d != none;
         d = t.messages.delivery(d).sibling) {
      if (t.messages.delivery(d).gate != Gate::open) {
        last = std::max(last, t.messages.delivery(d).due);
      }
    }
  }
  return last - t.now;
}

}  // namespace parley::core
