// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/messages/message_deadlines.h"

namespace parley::core {

// What holds deliveries up, and until when: a rate limit, which throttles them, or what keeps them
// outside of the inbox. Part of Messages. In the records, Delivery::gate is its own.
class Gates {
 public:
  Gates(MessageRecords& records, MessageDeadlines& deadlines)
      : records_(records), deadlines_(deadlines) {}

  // The delivery waits before this gate until then; no more before the one where it waited. From a
  // limit it goes on to another limit, from outside to outside.
  void hold_up(DeliveryRef ref, Gate gate, Time until);
  // Nothing holds it up any more, and no deadline of it runs.
  void let_pass(DeliveryRef ref);

  // Whether its sender has sent another on its topic, or to everyone, that has still to pass the
  // limit of that channel. Only one of a sender's stands in the line of a channel, so that those
  // who publish there take turns. When it has passed, or is gone, the next one is due.
  bool is_behind(MessageRef ref) const;
  // When that other one goes on, as far as is known; the last of them. It is behind one.
  Time due_before(MessageRef ref) const;

  // Deliveries to this receiver that wait outside of its inbox: for the next try, or because a
  // former one of its name was removed.
  uint64_t outside_of(AgentRef receiver) const;
  // Those of this sender.
  uint64_t outside_of(AgentRef receiver, AgentRef sender) const;
  // The oldest of this sender's that wait there for the next try, before that gate; or none.
  DeliveryRef first_tried(AgentRef receiver, AgentRef sender, Gate gate) const;
  // All that wait there for the next try, by sender, each one's oldest first.
  std::vector<DeliveryRef> tried_of(AgentRef receiver) const;

  // The name is registered anew since then: what a former one of the name has waiting for limits,
  // or will have when it is restored, is not counted for it, and it waits for none of that.
  void part(AgentRef sender, Seq since);

  // Messages that wait for a limit with one receiver at least; of this sender.
  uint64_t throttled() const { return throttled_.size(); }
  uint64_t throttled_of(AgentRef sender) const;
  bool is_throttled(MessageRef ref) const {
    return throttled_.contains(records_.messages[ref].seq);
  }
  // Their deliveries that wait for a limit, the oldest first: those of messages from this one on,
  // of each all, until there are so many.
  std::vector<DeliveryRef> throttled_deliveries(Seq from, size_t enough) const;
  // When the first and the last of the sender's get through the limit that they wait for; now when
  // none waits.
  std::pair<Time, Time> passing_of(AgentRef sender, Time now) const;
  // Senders of whom nothing is throttled any more, since it was asked last.
  std::vector<AgentRef> take_drained() { return std::exchange(drained_, {}); }

 private:
  // Those who send, by their names and whether a former one of the name did.
  using Origin = std::pair<AgentRef, bool>;

  struct Line {
    uint64_t messages = 0;
    std::set<std::pair<Time, DeliveryRef>> due{};  // of each delivery
  };

  // A message, with how many of its deliveries wait; of a publication: have not passed its channel.
  struct Waiting {
    MessageRef message = none;
    uint32_t waiting = 0;
  };
  // By topic, which is none for the channel to everyone, and sender; the oldest publication first.
  using Turns = std::map<std::pair<Origin, TopicRef>, std::map<Seq, Waiting>>;

  // What is tried again, in this order.
  struct Tried {
    AgentRef receiver = none;
    AgentRef sender = none;
    Gate gate = Gate::open;
    Seq seq;
    DeliveryRef ref = none;

    auto operator<=>(const Tried&) const = default;
  };

  Origin origin_of(const Message& message) const;
  Tried tried(DeliveryRef ref) const;
  void note_outside(const Delivery& delivery);
  void note_inside(const Delivery& delivery);
  void count_out(const Delivery& delivery, std::map<Origin, Line>::iterator line);
  // Keeps the turns in step when a delivery goes from one gate to another.
  void move_turn(DeliveryRef ref, Gate from, Gate to);
  void leave_turns(DeliveryRef ref);
  const std::map<Seq, Waiting>* publications(const Message& message) const;

  MessageRecords& records_;
  MessageDeadlines& deadlines_;
  std::map<AgentRef, uint64_t> outside_;                          // by receiver
  std::map<std::pair<AgentRef, AgentRef>, uint64_t> outside_by_;  // and sender
  std::set<Tried> tried_;
  std::map<Seq, Waiting> throttled_;
  std::map<Origin, Line> by_sender_;  // of those that are throttled
  std::map<AgentRef, Seq> parted_;  // since when those of a name are its own, where others wait
  std::vector<AgentRef> drained_;
  Turns turns_;
};

}  // namespace parley::core
