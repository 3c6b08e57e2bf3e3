// SPDX-License-Identifier: Apache-2.0
#include "core/messages/gates.h"

#include <algorithm>
#include <iterator>

namespace parley::core {

void Gates::hold_up(DeliveryRef ref, Gate gate, Time until) {
  Delivery& delivery = records_.deliveries[ref];
  if (is_tried(delivery.gate)) {
    tried_.erase(tried(ref));
  }
  if (is_outside(gate)) {
    if (delivery.gate == Gate::open) {
      note_outside(delivery);
    }
  } else {
    Line& line = by_sender_[origin_of(records_.message_of(ref))];
    if (delivery.gate != Gate::open) {
      line.due.erase({delivery.due, ref});
    } else if (Waiting& throttled = throttled_[records_.message_of(ref).seq];
               throttled.waiting++ == 0) {
      throttled.message = delivery.message;
      ++line.messages;
    }
    line.due.emplace(until, ref);
  }
  move_turn(ref, delivery.gate, gate);
  delivery.gate = gate;
  if (is_tried(gate)) {
    tried_.insert(tried(ref));
  }
  deadlines_.start_due(ref, until);
}

void Gates::let_pass(DeliveryRef ref) {
  Delivery& delivery = records_.deliveries[ref];
  move_turn(ref, delivery.gate, Gate::open);
  if (is_tried(delivery.gate)) {
    tried_.erase(tried(ref));
  }
  if (is_outside(delivery.gate)) {
    note_inside(delivery);
  } else if (delivery.gate != Gate::open) {
    const auto line = by_sender_.find(origin_of(records_.message_of(ref)));
    line->second.due.erase({delivery.due, ref});
    count_out(delivery, line);
  }
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
  Waiting& published = turns_[{origin_of(message), message.topic}][message.seq];
  published.message = records_.deliveries[ref].message;
  ++published.waiting;
}

// The last delivery of the first publication takes its place in the line with it: the next one's
// turn has come.
void Gates::leave_turns(DeliveryRef ref) {
  const Message& message = records_.message_of(ref);
  const auto turns = turns_.find({origin_of(message), message.topic});
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

const std::map<Seq, Gates::Waiting>* Gates::publications(const Message& message) const {
  const auto at = turns_.find({origin_of(message), message.topic});
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

Gates::Origin Gates::origin_of(const Message& message) const {
  const auto at = parted_.empty() ? parted_.end() : parted_.find(message.sender);
  return {message.sender, at != parted_.end() && message.seq < at->second};
}

// The turns of two that were one line each: the first of the second one may stand before the
// channel already, and goes on from there.
void Gates::part(AgentRef sender, Seq since) {
  parted_[sender] = since;
  auto node = by_sender_.extract(Origin{sender, false});
  if (node.empty()) {
    return;
  }
  Line& former = by_sender_[{sender, true}];
  former.messages += node.mapped().messages;
  former.due.merge(node.mapped().due);
  for (auto at = turns_.lower_bound({{sender, false}, 0});
       at != turns_.end() && at->first.first == Origin{sender, false}; at = turns_.erase(at)) {
    turns_[{{sender, true}, at->first.second}].merge(at->second);
  }
}

void Gates::note_outside(const Delivery& delivery) {
  ++outside_[delivery.receiver];
  ++outside_by_[{delivery.receiver, records_.messages[delivery.message].sender}];
}

void Gates::note_inside(const Delivery& delivery) {
  if (const auto at = outside_.find(delivery.receiver); --at->second == 0) {
    outside_.erase(at);
  }
  const std::pair both(delivery.receiver, records_.messages[delivery.message].sender);
  if (const auto at = outside_by_.find(both); --at->second == 0) {
    outside_by_.erase(at);
  }
}

void Gates::count_out(const Delivery& delivery, std::map<Origin, Line>::iterator line) {
  const auto at = throttled_.find(records_.messages[delivery.message].seq);
  if (--at->second.waiting > 0) {
    return;
  }
  throttled_.erase(at);
  if (--line->second.messages > 0) {
    return;
  }
  if (const auto [sender, is_former] = line->first; is_former) {
    parted_.erase(sender);
  } else {
    drained_.push_back(sender);
  }
  by_sender_.erase(line);
}

uint64_t Gates::outside_of(AgentRef receiver) const {
  const auto at = outside_.find(receiver);
  return at == outside_.end() ? 0 : at->second;
}

Gates::Tried Gates::tried(DeliveryRef ref) const {
  const Delivery& delivery = records_.deliveries[ref];
  const Message& message = records_.messages[delivery.message];
  return {delivery.receiver, message.sender, delivery.gate, message.seq, ref};
}

DeliveryRef Gates::first_tried(AgentRef receiver, AgentRef sender, Gate gate) const {
  const auto at = tried_.lower_bound({receiver, sender, gate, Seq{}, 0});
  const bool is_its =
      at != tried_.end() && at->receiver == receiver && at->sender == sender && at->gate == gate;
  return is_its ? at->ref : none;
}

std::vector<DeliveryRef> Gates::tried_of(AgentRef receiver) const {
  std::vector<DeliveryRef> refs;
  for (auto at = tried_.lower_bound({receiver, 0, Gate::open, Seq{}, 0});
       at != tried_.end() && at->receiver == receiver; ++at) {
    refs.push_back(at->ref);
  }
  return refs;
}

uint64_t Gates::outside_of(AgentRef receiver, AgentRef sender) const {
  const auto at = outside_by_.find({receiver, sender});
  return at == outside_by_.end() ? 0 : at->second;
}

uint64_t Gates::throttled_of(AgentRef sender) const {
  const auto at = by_sender_.find({sender, false});
  return at == by_sender_.end() ? 0 : at->second.messages;
}

std::vector<DeliveryRef> Gates::throttled_deliveries(Seq from, size_t enough) const {
  std::vector<DeliveryRef> refs;
  for (auto at = throttled_.lower_bound(from); at != throttled_.end() && refs.size() < enough;
       ++at) {
    const size_t before = refs.size();
    for (DeliveryRef ref = records_.messages[at->second.message].deliveries; ref != none;
         ref = records_.deliveries[ref].sibling) {
      if (is_limit(records_.deliveries[ref].gate)) {
        refs.push_back(ref);
      }
    }
    std::reverse(refs.begin() + static_cast<std::ptrdiff_t>(before), refs.end());
  }
  return refs;
}

std::pair<Time, Time> Gates::passing_of(AgentRef sender, Time now) const {
  const auto at = by_sender_.find({sender, false});
  if (at == by_sender_.end() || at->second.due.empty()) {
    return {now, now};
  }
  return {at->second.due.begin()->first, at->second.due.rbegin()->first};
}

}  // namespace parley::core
