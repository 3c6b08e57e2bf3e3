// SPDX-License-Identifier: Apache-2.0
#include "core/messages/messages.h"

#include "base/hash.h"

namespace parley::core {

uint64_t Messages::hash(const Id128& id) const {
  return base::mix64(base::mix64(seed_, id.high()), id.low());
}

uint64_t Messages::hash_name(const Id128& id) const { return base::mix64(seed_, id.low()); }

MessageRef Messages::add(const Message& message) {
  const MessageRef ref = records_.messages.add(message);
  by_seq_.insert(message.seq, ref);
  by_id_.insert(hash(message.id), ref);
  if (!message.key.is_none()) {
    by_key_.insert(hash(message.key), ref);
  }
  if (message.named) {
    by_name_.insert(hash_name(message.id), ref);
  }
  return ref;
}

DeliveryRef Messages::add_delivery(MessageRef message_ref, AgentRef receiver, Time now) {
  Message& message = records_.messages[message_ref];
  Delivery delivery;
  delivery.changed = now;
  delivery.message = message_ref;
  delivery.receiver = receiver;
  delivery.sibling = message.deliveries;
  delivery.minor = ++message.delivery_count;
  const DeliveryRef ref = records_.deliveries.add(delivery);
  message.deliveries = ref;
  open.add(ref);
  return ref;
}

void Messages::remove(MessageRef ref) {
  const Message& message = records_.messages[ref];
  for (DeliveryRef next = message.deliveries; next != none;) {
    const DeliveryRef delivery = next;
    next = records_.deliveries[delivery].sibling;
    gates.let_pass(delivery);
    if (records_.deliveries[delivery].open) {
      open.remove(delivery);
    }
    marks.set(delivery, {});
    notes.remove(delivery);
    records_.deliveries.remove(delivery);
  }
  deadlines.stop_expiry(ref);
  by_seq_.erase(message.seq);
  by_id_.erase(hash(message.id), ref);
  if (!message.key.is_none()) {
    by_key_.erase(hash(message.key), ref);
  }
  if (message.named) {
    by_name_.erase(hash_name(message.id), ref);
  }
  records_.messages.remove(ref);
}

MessageRef Messages::find_sent(AgentRef sender, const MessageId& id) const {
  MessageRef found = none;
  by_id_.find(hash(id), [&](MessageRef ref) {
    if (message(ref).sender == sender && message(ref).id == id) {
      found = ref;
    }
    return found != none;
  });
  return found;
}

MessageRef Messages::find_key(AgentRef sender, const Id128& key) const {
  MessageRef found = none;
  by_key_.find(hash(key), [&](MessageRef ref) {
    if (message(ref).sender == sender && message(ref).key == key) {
      found = ref;
    }
    return found != none;
  });
  return found;
}

MessageRef Messages::find_received(AgentRef receiver, const MessageId& id, AgentRef asker) const {
  MessageRef found = none;
  by_id_.find(hash(id), [&](MessageRef ref) {
    const bool fits = asker == none || message(ref).answers_to() == asker;
    if (message(ref).id == id && fits && delivery_to(ref, receiver) != none &&
        (found == none || message(found).seq < message(ref).seq)) {
      found = ref;
    }
    return false;
  });
  return found;
}

std::vector<MessageRef> Messages::find_named(AgentRef receiver, uint64_t id_low) const {
  std::vector<MessageRef> found;
  by_name_.find(base::mix64(seed_, id_low), [&](MessageRef ref) {
    if (message(ref).id.low() == id_low && delivery_to(ref, receiver) != none) {
      found.push_back(ref);
    }
    return false;
  });
  return found;
}

bool Messages::has_failed(MessageRef ref) const {
  const Message& message = records_.messages[ref];
  bool failed = message.delivery_count > 0;
  for (DeliveryRef d = message.deliveries; d != none && failed; d = delivery(d).sibling) {
    failed = is_final(delivery(d).state) && delivery(d).state > State::answered;
  }
  return failed;
}

DeliveryRef Messages::delivery_to(MessageRef message, AgentRef receiver) const {
  DeliveryRef ref = records_.messages[message].deliveries;
  while (ref != none && records_.deliveries[ref].receiver != receiver) {
    ref = records_.deliveries[ref].sibling;
  }
  return ref;
}

}  // namespace parley::core
