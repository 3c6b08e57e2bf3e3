// SPDX-License-Identifier: Apache-2.0
#include "core/messages/open_deliveries.h"

#include <algorithm>

namespace parley::core {

void OpenDeliveries::add(DeliveryRef ref) {
  link(ref);
  Message& message = records_.message_of(ref);
  ++by_priority_[static_cast<size_t>(message.priority)];
  if (++message.open > 1 || message.sender == none) {
    return;
  }
  if (message.sender >= by_sender_.size()) {
    by_sender_.resize(message.sender + 1);
  }
  ++by_sender_[message.sender];
}

void OpenDeliveries::remove(DeliveryRef ref) {
  unlink(ref);
  Message& message = records_.message_of(ref);
  --by_priority_[static_cast<size_t>(message.priority)];
  if (--message.open == 0 && message.sender != none) {
    --by_sender_[message.sender];
  }
}

void OpenDeliveries::set_receiver(DeliveryRef ref, AgentRef receiver) {
  const bool is_open = records_.deliveries[ref].open;
  if (is_open) {
    unlink(ref);
  }
  records_.deliveries[ref].receiver = receiver;
  if (is_open) {
    link(ref);
  }
}

uint64_t OpenDeliveries::messages_of(AgentRef sender) const {
  return sender < by_sender_.size() ? by_sender_[sender] : 0;
}

Time OpenDeliveries::oldest() const {
  Time oldest = base::time_max;
  for (const Ends& ends : by_receiver_) {
    oldest = ends.oldest == none ? oldest : std::min(oldest, records_.message_of(ends.oldest).time);
  }
  return oldest;
}

void OpenDeliveries::link(DeliveryRef ref) {
  Delivery& delivery = records_.deliveries[ref];
  if (delivery.receiver >= by_receiver_.size()) {
    by_receiver_.resize(delivery.receiver + 1);
  }
  Ends& ends = by_receiver_[delivery.receiver];
  delivery.open = true;
  delivery.older = ends.newest;
  delivery.newer = none;
  (ends.newest == none ? ends.oldest : records_.deliveries[ends.newest].newer) = ref;
  ends.newest = ref;
}

void OpenDeliveries::unlink(DeliveryRef ref) {
  Delivery& delivery = records_.deliveries[ref];
  Ends& ends = by_receiver_[delivery.receiver];
  (delivery.newer == none ? ends.newest : records_.deliveries[delivery.newer].older) =
      delivery.older;
  (delivery.older == none ? ends.oldest : records_.deliveries[delivery.older].newer) =
      delivery.newer;
  delivery.open = false;
}

}  // namespace parley::core
