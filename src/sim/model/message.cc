// SPDX-License-Identifier: Apache-2.0
#include "sim/model/message.h"

#include "sim/text.h"

namespace parley::sim {

Delivery* find_delivery(SentMessage& message, std::string_view receiver) {
  const auto at = std::ranges::find(message.deliveries, receiver, &Delivery::receiver);
  return at == message.deliveries.end() ? nullptr : &*at;
}

const Delivery* find_delivery(const SentMessage& message, std::string_view receiver) {
  const auto at = std::ranges::find(message.deliveries, receiver, &Delivery::receiver);
  return at == message.deliveries.end() ? nullptr : &*at;
}

bool lacks_decision(const std::map<Seq, SentMessage>& messages, const SentMessage& sent,
                    std::string_view receiver) {
  const auto decision = sent.decisions.find(std::string(receiver));
  const auto notice =
      decision == sent.decisions.end() ? messages.end() : messages.find(decision->second);
  const Delivery* const told =
      notice == messages.end() ? nullptr : find_delivery(notice->second, receiver);
  return told != nullptr && !told->is_final() && told->attempts == 0;
}

bool may_be_too_large(size_t bytes) {
  constexpr size_t short_max = 300;
  return bytes > short_max;
}

std::string named(Seq message, const std::string& receiver) {
  return text("message {} to {}", message.n, receiver);
}

}  // namespace parley::sim
