// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/inbox.h"

#include <algorithm>

#include <numeric>

#include "base/check.h"

namespace parley::core {

namespace {

// Whether a waiting delivery is not in line now. It comes in when its delay is over, or what holds
// it lets it go.
bool stays_out(const Delivery& delivery, Discipline discipline) {
  return delivery.on_hold || is_outside(delivery.gate) ||
         (discipline == Discipline::bands && delivery.state == State::delayed);
}

bool is_critical(const Messages& messages, DeliveryRef ref) {
  return messages.message_of(ref).priority == Priority::critical;
}

}  // namespace

uint64_t SenderCounts::of(AgentRef sender) const {
  const auto at = std::ranges::find(counts_, sender, &Count::sender);
  return at == counts_.end() ? 0 : at->count;
}

void SenderCounts::add(AgentRef sender) {
  if (sender == none) {
    return;
  }
  const auto at = std::ranges::find(counts_, sender, &Count::sender);
  if (at == counts_.end()) {
    counts_.push_back({sender, 1});
  } else {
    ++at->count;
  }
}

void SenderCounts::remove(AgentRef sender) {
  if (sender == none) {
    return;
  }
  const auto at = std::ranges::find(counts_, sender, &Count::sender);
  CHECK(at != counts_.end());
  if (--at->count == 0) {
    *at = counts_.back();
    counts_.pop_back();
  }
}

uint64_t Inbox::channel_of(const Message& message, Discipline discipline) {
  if (discipline == Discipline::bands) {
    return static_cast<uint64_t>(message.priority);
  }
  const uint64_t topic = message.everyone        ? uint64_t{none}
                         : message.topic == none ? 0
                                                 : uint64_t{message.topic} + 1;
  return topic << 32 | message.sender;
}

void Inbox::put(Messages& messages, Discipline discipline, DeliveryRef ref) {
  const Delivery& delivery = messages.delivery(ref);
  if (stays_out(delivery, discipline)) {
    return;
  }
  const auto at = channels_.try_emplace(channel_of(messages.message_of(ref), discipline)).first;
  add(messages, at, ref);
  hurry(messages, at->second);
  settle_turn(messages, at);
}

void Inbox::restore(Messages& messages, Discipline discipline, DeliveryRef ref) {
  if (!stays_out(messages.delivery(ref), discipline)) {
    const auto at = channels_.try_emplace(channel_of(messages.message_of(ref), discipline)).first;
    add(messages, at, ref);
    settle_turn(messages, at);
  }
}

void Inbox::put_all(Messages& messages, Discipline discipline, std::span<const DeliveryRef> refs) {
  std::set<uint64_t> changed;
  for (const DeliveryRef ref : refs) {
    if (!stays_out(messages.delivery(ref), discipline)) {
      const uint64_t key = channel_of(messages.message_of(ref), discipline);
      add(messages, channels_.try_emplace(key).first, ref);
      changed.insert(key);
    }
  }
  for (const uint64_t key : changed) {
    const auto at = channels_.find(key);
    hurry(messages, at->second);
    settle_turn(messages, at);
  }
}

void Inbox::add(Messages& messages, std::map<uint64_t, Channel>::iterator at, DeliveryRef ref) {
  Channel& channel = at->second;
  link(messages, channel, ref);
  ++channel.waiting[static_cast<size_t>(messages.message_of(ref).priority)];
  if (messages.delivery(ref).state == State::delayed) {
    ++channel.delayed;
  } else {
    channel.urgent += is_critical(messages, ref) ? 1 : 0;
  }
}

// Those that come back are mostly among the oldest, or beside the one that came back before them: a
// stream that is closed gives back thousands, in order. So this looks from the front and from there
// at the same time.
DeliveryRef Inbox::first_behind(const Messages& messages, const Channel& channel, Seq seq) {
  const auto seq_of = [&](DeliveryRef ref) { return messages.message_of(ref).seq; };
  DeliveryRef front = channel.first;
  DeliveryRef near = channel.came_back == none ? channel.last : channel.came_back;
  while (seq_of(front) < seq) {
    front = messages.delivery(front).next;
    if (seq_of(near) < seq) {
      near = messages.delivery(near).next;
      if (seq_of(near) > seq) {
        return near;
      }
    } else if (const DeliveryRef older = messages.delivery(near).prev; seq_of(older) < seq) {
      return near;
    } else {
      near = older;
    }
  }
  return front;
}

void Inbox::link(Messages& messages, Channel& channel, DeliveryRef ref) {
  const Seq seq = messages.message_of(ref).seq;
  DeliveryRef after = channel.last;  // new messages go to the end
  if (after != none && seq < messages.message_of(after).seq) {
    after = messages.delivery(first_behind(messages, channel, seq)).prev;
    channel.came_back = ref;
  }
  Delivery& delivery = messages.delivery(ref);
  delivery.prev = after;
  delivery.next = after == none ? channel.first : messages.delivery(after).next;
  (delivery.prev == none ? channel.first : messages.delivery(delivery.prev).next) = ref;
  (delivery.next == none ? channel.last : messages.delivery(delivery.next).prev) = ref;
}

void Inbox::take(Messages& messages, Discipline discipline, DeliveryRef ref) {
  Delivery& delivery = messages.delivery(ref);
  if (stays_out(delivery, discipline)) {
    return;
  }
  const Message& message = messages.message_of(ref);
  const auto at = channels_.find(channel_of(message, discipline));
  CHECK(at != channels_.end());
  Channel& channel = at->second;
  channel.came_back = channel.came_back == ref ? delivery.next : channel.came_back;
  (delivery.prev == none ? channel.first : messages.delivery(delivery.prev).next) = delivery.next;
  (delivery.next == none ? channel.last : messages.delivery(delivery.next).prev) = delivery.prev;
  delivery.prev = none;
  delivery.next = none;
  --channel.waiting[static_cast<size_t>(message.priority)];
  if (delivery.state == State::delayed) {
    --channel.delayed;
    hurry(messages, channel);  // it may have been the next to go
  } else {
    channel.urgent -= is_critical(messages, ref) ? 1 : 0;
  }
  settle_turn(messages, at);
}

void Inbox::clear(Messages& messages, std::span<const DeliveryRef> refs) {
  for (const DeliveryRef ref : refs) {
    messages.delivery(ref).prev = none;
    messages.delivery(ref).next = none;
  }
  channels_.clear();
  turns_.clear();
}

void Inbox::end_delay(Messages& messages, Discipline discipline, DeliveryRef ref) {
  Delivery& delivery = messages.delivery(ref);
  CHECK(delivery.state == State::delayed);
  const bool was_out = stays_out(delivery, discipline);
  messages.gates.let_pass(ref);
  delivery.state = State::queued;
  if (delivery.on_hold) {
    return;
  }
  if (was_out) {
    put(messages, discipline, ref);
    return;
  }
  const auto at = channels_.find(channel_of(messages.message_of(ref), discipline));
  CHECK(at != channels_.end());
  --at->second.delayed;
  at->second.urgent += is_critical(messages, ref) ? 1 : 0;
  hurry(messages, at->second);
  settle_turn(messages, at);
}

// Nothing urgent waits for another's delay: those before a critical message end, so that it need
// not wait and the order inside the channel holds. Its own delay was asked for and stays. Where
// very many are before it, the first of the rest is due at once, and a tick takes them on from
// there.
void Inbox::hurry(Messages& messages, Channel& channel) {
  constexpr size_t at_once = 4;
  size_t gone = 0;
  uint32_t urgent = channel.delayed > 0 ? channel.urgent : 0;
  for (DeliveryRef ref = channel.first; urgent > 0; ref = messages.delivery(ref).next) {
    const Delivery& delivery = messages.delivery(ref);
    if (delivery.state != State::delayed) {
      urgent -= is_critical(messages, ref) ? 1 : 0;
    } else if (gone == at_once) {
      if (is_limit(delivery.gate)) {
        messages.gates.hold_up(ref, Gate::receiver, delivery.changed);
      } else {
        messages.deadlines.start_due(ref, delivery.changed);
      }
      return;
    } else {
      messages.gates.let_pass(ref);
      messages.delivery(ref).state = State::queued;
      --channel.delayed;
      channel.urgent += is_critical(messages, ref) ? 1 : 0;
      ++gone;
    }
  }
}

Inbox::Turn Inbox::turn_of(const Messages& messages, uint64_t key, const Channel& channel) {
  size_t urgent = priority_count - 1;
  while (urgent > 0 && channel.waiting[urgent] == 0) {
    --urgent;
  }
  return Turn{static_cast<Priority>(urgent), messages.message_of(channel.first).seq, key,
              channel.first};
}

void Inbox::settle_turn(Messages& messages, std::map<uint64_t, Channel>::iterator at) {
  Channel& channel = at->second;
  const bool ready =
      channel.first != none && messages.delivery(channel.first).state == State::queued;
  const Turn turn = ready ? turn_of(messages, at->first, channel) : Turn{};
  if (channel.has_turn && ready && turn.head == channel.turn.head &&
      turn.priority == channel.turn.priority) {
    return;
  }
  if (channel.has_turn && ready) {
    auto node = turns_.extract(channel.turn);  // the set's node is used again: no allocation
    node.value() = turn;
    turns_.insert(std::move(node));
  } else if (channel.has_turn) {
    turns_.erase(channel.turn);
  } else if (ready) {
    turns_.insert(turn);
  }
  channel.has_turn = ready;
  channel.turn = turn;
  if (channel.first == none) {
    channels_.erase(at);
  }
}

uint64_t Inbox::ready(const Messages& messages) const {
  uint64_t count = 0;
  for (const Turn& turn : turns_) {
    const Channel& channel = channels_.at(turn.channel);
    if (channel.delayed == 0) {
      count += std::accumulate(channel.waiting.begin(), channel.waiting.end(), uint64_t{0});
      continue;
    }
    for (DeliveryRef ref = channel.first;
         ref != none && messages.delivery(ref).state == State::queued;
         ref = messages.delivery(ref).next) {
      ++count;
    }
  }
  return count;
}

DeliveryRef Inbox::first() const { return turns_.empty() ? none : turns_.begin()->first; }

// Serves a copy of the turns: a channel goes back into line with its next message, at the priority
// of the most urgent message it then holds.
void Inbox::walk(const Messages& messages, const std::function<bool(DeliveryRef)>& visit) const {
  std::set<Turn> turns = turns_;
  std::map<uint64_t, Channel> served;
  while (!turns.empty()) {
    const Turn turn = turns.extract(turns.begin()).value();
    if (!visit(turn.first)) {
      return;
    }
    Channel& channel = served.try_emplace(turn.channel, channels_.at(turn.channel)).first->second;
    --channel.waiting[static_cast<size_t>(messages.message_of(turn.first).priority)];
    channel.first = messages.delivery(turn.first).next;
    if (channel.first != none && messages.delivery(channel.first).state == State::queued) {
      turns.insert(turn_of(messages, turn.channel, channel));
    }
  }
}

}  // namespace parley::core
