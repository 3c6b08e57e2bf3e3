// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/messages.h"

#include <algorithm>

#include "base/hash.h"

namespace parley::core {

// There are as many of them as of live messages: ARCHITECTURE.md says what each costs.
static_assert(sizeof(Message) == 160 && sizeof(Delivery) == 72);

uint64_t Messages::hash(const Id128& id) const {
  return base::mix64(base::mix64(seed_, id.high()), id.low());
}

uint64_t Messages::hash_name(const Id128& id) const { return base::mix64(seed_, id.low()); }

MessageRef Messages::add(const Message& message) {
  const MessageRef ref = messages_.add(message);
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
  Message& message = messages_[message_ref];
  Delivery delivery;
  delivery.changed = now;
  delivery.message = message_ref;
  delivery.receiver = receiver;
  delivery.sibling = message.deliveries;
  delivery.minor = ++message.delivery_count;
  const DeliveryRef ref = deliveries_.add(delivery);
  message.deliveries = ref;
  note_revival(ref);
  return ref;
}

void Messages::link_open(DeliveryRef ref) {
  Delivery& delivery = deliveries_[ref];
  if (delivery.receiver >= open_to_.size()) {
    open_to_.resize(delivery.receiver + 1);
  }
  Ends& ends = open_to_[delivery.receiver];
  delivery.open = true;
  delivery.older = ends.newest;
  delivery.newer = none;
  (ends.newest == none ? ends.oldest : deliveries_[ends.newest].newer) = ref;
  ends.newest = ref;
  ++open_by_priority_[static_cast<size_t>(message_of(ref).priority)];
}

void Messages::unlink_open(DeliveryRef ref) {
  Delivery& delivery = deliveries_[ref];
  Ends& ends = open_to_[delivery.receiver];
  (delivery.newer == none ? ends.newest : deliveries_[delivery.newer].older) = delivery.older;
  (delivery.older == none ? ends.oldest : deliveries_[delivery.older].newer) = delivery.newer;
  delivery.open = false;
  --open_by_priority_[static_cast<size_t>(message_of(ref).priority)];
}

Time Messages::oldest_open() const {
  Time oldest = base::time_max;
  for (const Ends& ends : open_to_) {
    oldest = ends.oldest == none ? oldest : std::min(oldest, message_of(ends.oldest).time);
  }
  return oldest;
}

void Messages::set_receiver(DeliveryRef ref, AgentRef receiver) {
  const bool open = deliveries_[ref].open;
  if (open) {
    unlink_open(ref);
  }
  deliveries_[ref].receiver = receiver;
  if (open) {
    link_open(ref);
  }
}

void Messages::note_revival(DeliveryRef ref) {
  link_open(ref);
  Message& message = messages_[deliveries_[ref].message];
  if (++message.open > 1 || message.sender == none) {
    return;
  }
  if (message.sender >= open_by_sender_.size()) {
    open_by_sender_.resize(message.sender + 1);
  }
  ++open_by_sender_[message.sender];
}

void Messages::note_end(DeliveryRef ref) {
  unlink_open(ref);
  Message& message = messages_[deliveries_[ref].message];
  if (--message.open == 0 && message.sender != none) {
    --open_by_sender_[message.sender];
  }
}

uint64_t Messages::open_of(AgentRef sender) const {
  return sender < open_by_sender_.size() ? open_by_sender_[sender] : 0;
}

void Messages::remove(MessageRef ref) {
  const Message& message = messages_[ref];
  DeliveryRef next = message.deliveries;
  while (next != none) {
    const DeliveryRef delivery = next;
    next = deliveries_[delivery].sibling;
    stop_due(delivery);
    if (deliveries_[delivery].open) {
      unlink_open(delivery);
    }
    last_errors_.erase(delivery);
    redirected_.erase(delivery);
    former_marks_.erase(delivery);
    deliveries_.remove(delivery);
  }
  if (message.open > 0 && message.sender != none) {
    --open_by_sender_[message.sender];
  }
  stop_expiry(ref);
  by_seq_.erase(message.seq);
  by_id_.erase(hash(message.id), ref);
  if (!message.key.is_none()) {
    by_key_.erase(hash(message.key), ref);
  }
  if (message.named) {
    by_name_.erase(hash_name(message.id), ref);
  }
  messages_.remove(ref);
}

MessageRef Messages::find(Seq seq) const { return by_seq_.find(seq); }

MessageRef Messages::find_sent(AgentRef sender, const MessageId& id) const {
  MessageRef found = none;
  by_id_.find(hash(id), [&](MessageRef ref) {
    if (messages_[ref].sender == sender && messages_[ref].id == id) {
      found = ref;
    }
    return found != none;
  });
  return found;
}

MessageRef Messages::find_key(AgentRef sender, const Id128& key) const {
  MessageRef found = none;
  by_key_.find(hash(key), [&](MessageRef ref) {
    if (messages_[ref].sender == sender && messages_[ref].key == key) {
      found = ref;
    }
    return found != none;
  });
  return found;
}

MessageRef Messages::find_received(AgentRef receiver, const MessageId& id, AgentRef asker) const {
  MessageRef found = none;
  by_id_.find(hash(id), [&](MessageRef ref) {
    const bool fits = asker == none || messages_[ref].answers_to() == asker;
    if (messages_[ref].id == id && fits && delivery_to(ref, receiver) != none &&
        (found == none || messages_[found].seq < messages_[ref].seq)) {
      found = ref;
    }
    return false;
  });
  return found;
}

std::vector<MessageRef> Messages::find_named(AgentRef receiver, uint64_t id_low) const {
  std::vector<MessageRef> found;
  by_name_.find(base::mix64(seed_, id_low), [&](MessageRef ref) {
    if (messages_[ref].id.low() == id_low && delivery_to(ref, receiver) != none) {
      found.push_back(ref);
    }
    return false;
  });
  return found;
}

bool Messages::has_failed(MessageRef ref) const {
  const Message& message = messages_[ref];
  bool failed = message.delivery_count > 0;
  for (DeliveryRef d = message.deliveries; d != none && failed; d = deliveries_[d].sibling) {
    failed = is_final(deliveries_[d].state) && deliveries_[d].state > State::answered;
  }
  return failed;
}

DeliveryRef Messages::delivery_to(MessageRef message, AgentRef receiver) const {
  DeliveryRef ref = messages_[message].deliveries;
  while (ref != none && deliveries_[ref].receiver != receiver) {
    ref = deliveries_[ref].sibling;
  }
  return ref;
}

void Messages::start_expiry(MessageRef ref) {
  Message& message = messages_[ref];
  if (message.expires != base::time_max && message.timer == none) {
    message.timer = deadlines_.add({message.expires, message.seq, 0, ref});
  }
}

void Messages::stop_expiry(MessageRef ref) {
  Message& message = messages_[ref];
  if (message.timer != none) {
    deadlines_.remove(message.timer);
    message.timer = none;
  }
}

void Messages::set_expiry(MessageRef ref, Time at) {
  stop_expiry(ref);
  messages_[ref].expires = at;
  start_expiry(ref);
}

void Messages::start_due(DeliveryRef ref, Time at) {
  stop_due(ref);
  Delivery& delivery = deliveries_[ref];
  delivery.due = at;
  if (is_limit(delivery.gate)) {
    throttled_by_sender_[message_of(ref).sender].due.emplace(at, ref);
  }
  delivery.timer = deadlines_.add({at, message_of(ref).seq, delivery.minor, ref});
}

void Messages::stop_due(DeliveryRef ref) {
  Delivery& delivery = deliveries_[ref];
  if (delivery.timer != none) {
    deadlines_.remove(delivery.timer);
    delivery.timer = none;
    if (is_limit(delivery.gate)) {
      throttled_by_sender_[message_of(ref).sender].due.erase({delivery.due, ref});
    }
    delivery.due = Time{};
  }
}

void Messages::throttle(DeliveryRef ref, Gate gate, Time until) {
  Delivery& delivery = deliveries_[ref];
  if (delivery.gate == Gate::open && is_outside(gate)) {
    ++outside_[delivery.receiver];
  } else if (delivery.gate == Gate::open && throttled_[delivery.message]++ == 0) {
    ++throttled_by_sender_[message_of(ref).sender].messages;
  }
  delivery.gate = gate;
  start_due(ref, until);
}

void Messages::unthrottle(DeliveryRef ref) {
  Delivery& delivery = deliveries_[ref];
  const Gate gate = std::exchange(delivery.gate, Gate::open);
  if (is_outside(gate)) {
    if (const auto at = outside_.find(delivery.receiver); --at->second == 0) {
      outside_.erase(at);
    }
    return;
  }
  if (gate == Gate::open) {
    return;
  }
  const auto at = throttled_.find(delivery.message);
  if (--at->second > 0) {
    return;
  }
  throttled_.erase(at);
  const auto of_sender = throttled_by_sender_.find(message_of(ref).sender);
  if (--of_sender->second.messages == 0) {
    drained_.push_back(of_sender->first);
    throttled_by_sender_.erase(of_sender);
  }
}

ResumeMark Messages::former_mark(DeliveryRef ref) const {
  const auto at = former_marks_.find(ref);
  return at == former_marks_.end() ? ResumeMark{} : at->second;
}

void Messages::set_marks(DeliveryRef ref, ResumeMark mark, ResumeMark former) {
  deliveries_[ref].mark = mark;
  if (!former.is_none()) {
    former_marks_[ref] = former;
  } else if (!former_marks_.empty()) {
    former_marks_.erase(ref);
  }
}

ResumeMark Messages::mark_before(DeliveryRef ref, const ResumeMark& after) const {
  const ResumeMark mark = deliveries_[ref].mark;
  const ResumeMark former = after.covers(mark) ? mark : former_mark(ref);
  return after.covers(former) ? former : ResumeMark{};
}

void Messages::put_marks(DeliveryRef ref, Writer& out) const {
  put(deliveries_[ref].mark, out);
  put(former_mark(ref), out);
}

void Messages::get_marks(DeliveryRef ref, Reader& in) {
  ResumeMark mark;
  ResumeMark former;
  get(mark, in);
  get(former, in);
  set_marks(ref, mark, former);
}

uint64_t Messages::outside_of(AgentRef receiver) const {
  const auto at = outside_.find(receiver);
  return at == outside_.end() ? 0 : at->second;
}

uint64_t Messages::throttled_of(AgentRef sender) const {
  const auto at = throttled_by_sender_.find(sender);
  return at == throttled_by_sender_.end() ? 0 : at->second.messages;
}

std::pair<Time, Time> Messages::passing_of(AgentRef sender, Time now) const {
  const auto at = throttled_by_sender_.find(sender);
  if (at == throttled_by_sender_.end() || at->second.due.empty()) {
    return {now, now};
  }
  return {at->second.due.begin()->first, at->second.due.rbegin()->first};
}

}  // namespace parley::core
