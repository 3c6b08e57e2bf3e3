// SPDX-License-Identifier: Apache-2.0
#include "core/messages/message_deadlines.h"

namespace parley::core {

void MessageDeadlines::start_expiry(MessageRef ref) {
  Message& message = records_.messages[ref];
  if (message.expires != base::time_max && message.timer == none) {
    message.timer = deadlines_.add({message.expires, message.seq, 0, ref});
  }
}

void MessageDeadlines::stop_expiry(MessageRef ref) {
  Message& message = records_.messages[ref];
  if (message.timer != none) {
    deadlines_.remove(message.timer);
    message.timer = none;
  }
}

void MessageDeadlines::set_expiry(MessageRef ref, Time at) {
  stop_expiry(ref);
  records_.messages[ref].expires = at;
  start_expiry(ref);
}

void MessageDeadlines::start_due(DeliveryRef ref, Time at) {
  stop_due(ref);
  Delivery& delivery = records_.deliveries[ref];
  delivery.due = at;
  delivery.timer = deadlines_.add({at, records_.message_of(ref).seq, delivery.minor, ref});
}

void MessageDeadlines::stop_due(DeliveryRef ref) {
  Delivery& delivery = records_.deliveries[ref];
  if (delivery.timer != none) {
    deadlines_.remove(delivery.timer);
    delivery.timer = none;
    delivery.due = Time{};
  }
}

}  // namespace parley::core
