// SPDX-License-Identifier: Apache-2.0
// How rate limits hold messages up: the gates between a send and the receiver's inbox.
#include <algorithm>

#include "core/delivery/dispatch.h"

namespace parley::core {

namespace {

// The rules of flow bind flow's agents. People and the admin are not paced: no person types that
// fast, and what operates the broker must get through.
bool is_paced(const Agent& sender, const Message& message) {
  return sender.dialect == Dialect::flow && sender.kind == PrincipalKind::agent &&
         message.priority != Priority::critical;
}

bool is_published(const Message& message) { return message.topic != none || message.everyone; }

}  // namespace

Time Dispatch::book(Bucket& bucket, uint64_t per_min, Priority priority) {
  if (per_min == 0) {
    return t_.now;
  }
  const Time there = bucket.take(t_.now, cost_of(priority, per_min));
  relief_ = std::max(relief_, bucket.falls_to(mark()));
  return there;
}

Time Dispatch::book_channel(const Message& message) {
  const uint64_t per_min =
      message.everyone ? t_.rules.flow_rate_broadcast : t_.rules.flow_rate_topic;
  if (per_min == 0) {
    return t_.now;
  }
  const uint64_t key =
      message.everyone ? Buckets::everyone : Buckets::topic(t_.topics[message.topic].name);
  return book(t_.buckets.at(key, t_.now), per_min, message.priority);
}

Passage Dispatch::enter(MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  Agent& sender = t_.agents[message.sender];
  Passage passage{.is_paced = is_paced(sender, message), .gate = Gate::sender, .until = t_.now};
  if (!passage.is_paced) {
    return passage;
  }
  relief_ = t_.now;
  passage.until = book(sender.buckets.out, t_.rules.flow_rate_out, message.priority);
  if (passage.until <= t_.now && is_published(message)) {
    passage.gate = Gate::channel;
    passage.until = book_channel(message);
  }
  return passage;
}

bool Dispatch::throttle(DeliveryRef ref, Passage passage) {
  Delivery& delivery = t_.messages.delivery(ref);
  const Message& message = t_.messages.message(delivery.message);
  Agent& receiver = t_.agents[delivery.receiver];
  if (!passage.is_paced) {
    return false;
  }
  if (!is_published(message) && t_.rules.flow_rate_pair > 0) {
    const uint64_t key = Buckets::pair(t_.agents[message.sender].name, receiver.name);
    passage.until = std::max(
        passage.until, book(t_.buckets.at(key, t_.now), t_.rules.flow_rate_pair, message.priority));
  }
  if (passage.until <= t_.now) {
    passage.gate = Gate::receiver;
    passage.until = book(receiver.buckets.in, t_.rules.flow_rate_in, message.priority);
  }
  if (passage.until <= t_.now) {
    return false;
  }
  t_.messages.throttle(ref, passage.gate, passage.until);
  return true;
}

// What its sender's limit held up goes on together when it is one publication: that counts once.
void Dispatch::pass(DeliveryRef ref) {
  const MessageRef message_ref = t_.messages.delivery(ref).message;
  const Message& message = t_.messages.message(message_ref);
  if (t_.messages.delivery(ref).gate != Gate::sender || !is_published(message)) {
    pass_on(ref);
    return;
  }
  const Time until = book_channel(message);
  for (DeliveryRef next = message.deliveries; next != none;) {
    const Delivery& delivery = t_.messages.delivery(next);
    const DeliveryRef each = next;
    next = delivery.sibling;
    if (delivery.gate != Gate::sender) {
      continue;
    }
    if (until > t_.now) {
      t_.messages.throttle(each, Gate::channel, until);
    } else {
      pass_on(each);
    }
  }
}

// From the gates before to that of its receiver, or through it.
void Dispatch::pass_on(DeliveryRef ref) {
  const Delivery& delivery = t_.messages.delivery(ref);
  const AgentRef receiver = delivery.receiver;
  Agent& agent = t_.agents[receiver];
  if (delivery.gate != Gate::receiver) {
    const Time until =
        book(agent.buckets.in, t_.rules.flow_rate_in, t_.messages.message_of(ref).priority);
    if (until > t_.now) {
      t_.messages.throttle(ref, Gate::receiver, until);
      return;
    }
  }
  agent.inbox.end_delay(t_.messages, agent.discipline(), ref);
  pump(receiver);
}

void Dispatch::restart_rate_limits() {
  for (const AgentRef ref : t_.agents.sorted()) {
    t_.agents[ref].buckets = {};
  }
  t_.buckets.clear();
  std::vector<DeliveryRef> waiting;
  t_.messages.each_throttled([&](DeliveryRef ref) {
    if (is_limit(t_.messages.delivery(ref).gate)) {
      waiting.push_back(ref);
    }
  });
  std::ranges::sort(waiting, {}, [this](DeliveryRef ref) {
    return std::pair(t_.messages.message_of(ref).seq, t_.messages.delivery(ref).minor);
  });
  MessageRef entered = none;
  Passage passage;
  for (const DeliveryRef ref : waiting) {
    const Delivery& delivery = t_.messages.delivery(ref);
    if (delivery.gate == Gate::open) {
      continue;  // a critical one behind it is through, and let it go before
    }
    if (delivery.message != entered) {
      entered = delivery.message;
      passage = enter(entered);
    }
    if (!throttle(ref, passage)) {
      Agent& agent = t_.agents[delivery.receiver];
      agent.inbox.end_delay(t_.messages, agent.discipline(), ref);
      pump(delivery.receiver);
    }
  }
}

Duration Dispatch::wait_of(MessageRef ref) const {
  Time last = t_.now;
  if (t_.messages.is_throttled(ref) || !t_.messages.message(ref).to_many()) {
    for (DeliveryRef d = t_.messages.message(ref).deliveries; d != none;
         d = t_.messages.delivery(d).sibling) {
      if (t_.messages.delivery(d).gate != Gate::open) {
        last = std::max(last, t_.messages.delivery(d).due);
      }
    }
  }
  return last - t_.now;
}

}  // namespace parley::core
