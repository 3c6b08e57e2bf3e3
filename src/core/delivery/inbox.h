// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/messages/messages.h"
#include "core/model/policy.h"

namespace parley::core {

// How many of the messages in one inbox each sender has there. Most inboxes have few senders, and
// no order is needed.
class SenderCounts {
 public:
  uint64_t of(AgentRef sender) const;
  // The broker itself, which is none, is not counted.
  void add(AgentRef sender);
  void remove(AgentRef sender);

 private:
  struct Count {
    AgentRef sender = none;
    uint32_t count = 0;
  };
  std::vector<Count> counts_;
};

// The messages that wait for one receiver, in the order of its discipline. Holds references only;
// the deliveries' links belong to it from `put` to `take`.
class Inbox {
 public:
  // Puts a queued or delayed delivery in its place, by the message's seq.
  void put(Messages& messages, Discipline discipline, DeliveryRef ref);

  // The same with many of them, the oldest first, in one pass through each channel.
  void put_all(Messages& messages, Discipline discipline, std::span<const DeliveryRef> refs);

  // The same with one that a snapshot has: nothing else moves.
  void restore(Messages& messages, Discipline discipline, DeliveryRef ref);

  // Takes a delivery out that `put` put in.
  void take(Messages& messages, Discipline discipline, DeliveryRef ref);

  // Takes all out at once: they are among `refs`.
  void clear(Messages& messages, std::span<const DeliveryRef> refs);

  // Says that the delay of a delivery is over; it waits in its place as a queued one.
  void end_delay(Messages& messages, Discipline discipline, DeliveryRef ref);

  // The one to hand out next; none when nothing can be handed out now.
  DeliveryRef first() const;

  // Calls `visit` for what waits and can be handed out now, in that order, until it returns false.
  void walk(const Messages& messages, const std::function<bool(DeliveryRef)>& visit) const;

  // How many `walk` would visit. Looks at each channel once, and along those with a delayed one.
  uint64_t ready(const Messages& messages) const;

  // Whether nothing waits in it, not even with a delay.
  bool empty() const { return channels_.empty(); }

  // Unsettled messages of this receiver: those that wait, here or outside, and those it holds.
  uint64_t unsettled = 0;
  SenderCounts senders;  // the same by sender

 private:
  // A channel's place among those that can be served.
  struct Turn {
    Priority priority = Priority::low;
    Seq head;
    uint64_t channel = 0;
    DeliveryRef first = none;

    bool operator<(const Turn& other) const {
      return priority != other.priority ? priority > other.priority : head < other.head;
    }
  };

  struct Channel {
    DeliveryRef first = none;
    DeliveryRef last = none;
    std::array<uint32_t, priority_count> waiting{};  // by priority
    uint32_t delayed = 0;
    uint32_t urgent = 0;           // critical ones that are not delayed
    DeliveryRef came_back = none;  // the last one that was put before others
    bool has_turn = false;
    Turn turn;
  };

  static uint64_t channel_of(const Message& message, Discipline discipline);
  static Turn turn_of(const Messages& messages, uint64_t key, const Channel& channel);
  static void link(Messages& messages, Channel& channel, DeliveryRef ref);
  // The first one that is newer than `seq`; there is one.
  static DeliveryRef first_behind(const Messages& messages, const Channel& channel, Seq seq);
  void add(Messages& messages, std::map<uint64_t, Channel>::iterator at, DeliveryRef ref);
  static void hurry(Messages& messages, Channel& channel);
  // Gives the channel its turn by what it holds now, or removes it when it holds nothing.
  void settle_turn(Messages& messages, std::map<uint64_t, Channel>::iterator at);

  std::map<uint64_t, Channel> channels_;  // those that hold something
  std::set<Turn> turns_;
};

}  // namespace parley::core
