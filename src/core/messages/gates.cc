// SPDX-License-Identifier: Apache-2.0
#include "core/messages/gates.h"

#include <algorithm>
#include <iterator>

namespace parley::core {

void Gates::hold_up(DeliveryRef ref, Gate gate, Time until) {
  Delivery& delivery = records_.deliveries[ref];
  if (is_outside(gate)) {
    outside_[delivery.receiver] += delivery.gate == Gate::open ? 1 : 0;
  } else {
    Line& line = by_sender_[records_.message_of(ref).sender];
    if (delivery.gate != Gate::open) {
      line.due.erase({delivery.due, ref});
    } else if (throttled_[delivery.message]++ == 0) {
      ++line.messages;
    }
    line.due.emplace(until, ref);
  }
  move_turn(ref, delivery.gate, gate);
  delivery.gate = gate;
  deadlines_.start_due(ref, until);
}

void Gates::let_pass(DeliveryRef ref) {
  Delivery& delivery = records_.deliveries[ref];
  if (is_outside(delivery.gate)) {
    if (const auto at = outside_.find(delivery.receiver); --at->second == 0) {
      outside_.erase(at);
    }
  } else if (delivery.gate != Gate::open) {
    const auto line = by_sender_.find(records_.message_of(ref).sender);
    line->second.due.erase({delivery.due, ref});
    count_out(delivery, line);
  }
  move_turn(ref, delivery.gate, Gate::open);
  delivery.gate = Gate::open;
  deadlines_.stop_due(ref);
}

void Gates::move_turn(DeliveryRef ref, Gate from, Gate to) {
  const Message& message = records_.message_of(ref);
  if (is_before_channel(from) == is_before_channel(to) || !message.to_many()) {
    return;
  }
  if (is_before_channel(from)) {
    leave_turns(ref);
    return;
  }
  Published& published = turns_[{message.sender, message.topic}][message.seq];
  published.message = records_.deliveries[ref].message;
  ++published.waiting;
}

// The last delivery of the first publication takes its place in the line with it: the next one's
// turn has come.
void Gates::leave_turns(DeliveryRef ref) {
  const Message& message = records_.message_of(ref);
  const auto turns = turns_.find({message.sender, message.topic});
  const auto at = turns->second.find(message.seq);
  if (--at->second.waiting > 0) {
    return;
  }
  const bool was_first = at == turns->second.begin();
  turns->second.erase(at);
  if (turns->second.empty()) {
    turns_.erase(turns);
    return;
  }
  const Time due = records_.deliveries[ref].due;
  DeliveryRef next = records_.messages[turns->second.begin()->second.message].deliveries;
  while (was_first && next != none) {
    const DeliveryRef each = next;
    next = records_.deliveries[each].sibling;
    if (records_.deliveries[each].gate == Gate::turn) {
      hold_up(each, Gate::turn, due);
    }
  }
}

const std::map<Seq, Gates::Published>* Gates::publications(const Message& message) const {
  const auto at = turns_.find({message.sender, message.topic});
  return at == turns_.end() ? nullptr : &at->second;
}

bool Gates::is_behind(MessageRef ref) const {
  const Message& message = records_.messages[ref];
  const auto* const all = publications(message);
  return message.to_many() && all != nullptr && all->begin()->first < message.seq;
}

Time Gates::due_before(MessageRef ref) const {
  const Message& message = records_.messages[ref];
  const auto* const all = publications(message);
  const MessageRef before = std::prev(all->lower_bound(message.seq))->second.message;
  DeliveryRef next = records_.messages[before].deliveries;
  while (!is_before_channel(records_.deliveries[next].gate)) {
    next = records_.deliveries[next].sibling;
  }
  return records_.deliveries[next].due;
}

void Gates::count_out(const Delivery& delivery, std::map<AgentRef, Line>::iterator line) {
  const auto at = throttled_.find(delivery.message);
  if (--at->second > 0) {
    return;
  }
  throttled_.erase(at);
  if (--line->second.messages == 0) {
    drained_.push_back(line->first);
    by_sender_.erase(line);
  }
}

uint64_t Gates::outside_of(AgentRef receiver) const {
  const auto at = outside_.find(receiver);
  return at == outside_.end() ? 0 : at->second;
}

uint64_t Gates::throttled_of(AgentRef sender) const {
  const auto at = by_sender_.find(sender);
  return at == by_sender_.end() ? 0 : at->second.messages;
}

std::vector<DeliveryRef> Gates::throttled_deliveries() const {
  std::vector<DeliveryRef> refs;
  for (const auto& [sender, line] : by_sender_) {
    for (const auto& [due, ref] : line.due) {
      refs.push_back(ref);
    }
  }
  std::ranges::sort(refs, {}, [this](DeliveryRef ref) {
    return std::pair(records_.message_of(ref).seq, records_.deliveries[ref].minor);
  });
  return refs;
}

std::pair<Time, Time> Gates::passing_of(AgentRef sender, Time now) const {
  const auto at = by_sender_.find(sender);
  if (at == by_sender_.end() || at->second.due.empty()) {
    return {now, now};
  }
  return {at->second.due.begin()->first, at->second.due.rbegin()->first};
}

}  // namespace parley::core
