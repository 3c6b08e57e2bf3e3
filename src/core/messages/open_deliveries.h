// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/messages/message.h"

namespace parley::core {

// The deliveries that are not final, listed by receiver and counted by sender and by priority.
// Part of Messages. In the records, Message::open and Delivery::open, older and newer are its own.
class OpenDeliveries {
 public:
  explicit OpenDeliveries(MessageRecords& records) : records_(records) {}

  // The delivery is new, or had ended and is open again: it is the newest of its receiver.
  void add(DeliveryRef ref);
  // It has ended, or is forgotten.
  void remove(DeliveryRef ref);
  // Another gets the delivery, be it open or not.
  void set_receiver(DeliveryRef ref, AgentRef receiver);

  // Those to the receiver, the newest first.
  template <class Visit>
  void each_to(AgentRef receiver, Visit&& visit) const {
    for (DeliveryRef ref = receiver < by_receiver_.size() ? by_receiver_[receiver].newest : none;
         ref != none; ref = records_.deliveries[ref].older) {
      visit(ref, records_.deliveries[ref]);
    }
  }

  // How many messages of this sender have such deliveries.
  uint64_t messages_of(AgentRef sender) const;
  // How many deliveries there are.
  const std::array<uint64_t, priority_count>& by_priority() const { return by_priority_; }
  // When the message came that has been open for longest with its receiver; time_max: none is.
  Time oldest() const;

 private:
  struct Ends {
    DeliveryRef newest = none;
    DeliveryRef oldest = none;
  };

  void link(DeliveryRef ref);
  void unlink(DeliveryRef ref);

  MessageRecords& records_;
  std::vector<Ends> by_receiver_;
  std::vector<uint64_t> by_sender_;  // messages
  std::array<uint64_t, priority_count> by_priority_{};
};

}  // namespace parley::core
