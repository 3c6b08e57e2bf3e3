// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/messages/message.h"
#include "core/state/deadlines.h"

namespace parley::core {

// When messages and deliveries are due, one deadline each: a message's is its expiry, a delivery's
// the end of its lease or of its delay. Part of Messages. In the records, both timers and
// Delivery::due are its own.
class MessageDeadlines {
 public:
  explicit MessageDeadlines(MessageRecords& records) : records_(records) {}

  // By Message::expires, unless that is never or the deadline runs already.
  void start_expiry(MessageRef ref);
  void stop_expiry(MessageRef ref);
  void set_expiry(MessageRef ref, Time at);  // of one whose deadline runs

  // Ends the deadline that runs, if one does.
  void start_due(DeliveryRef ref, Time at);
  void stop_due(DeliveryRef ref);

  // Those that run. `minor` is 0 for a message, and Delivery::minor for a delivery.
  const Deadlines& all() const { return deadlines_; }

 private:
  MessageRecords& records_;
  Deadlines deadlines_;
};

}  // namespace parley::core
