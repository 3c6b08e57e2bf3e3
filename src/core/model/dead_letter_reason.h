// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace parley::core {

// Why a message could not be delivered. Written into snapshots: never renumber.
enum class Reason : uint8_t {
  receiver_not_found = 0,
  receiver_unavailable = 1,
  ttl_expired = 2,
  rejected = 3,
  malformed = 4,
  queue_overflow = 5,
};
constexpr Reason reason_last = Reason::queue_overflow;

// `receiver_not_found`, …: the public name.
std::string_view reason_name(Reason reason);

// Whether another try may help: the receiver was away, or had no room.
constexpr bool is_retryable(Reason reason) {
  return reason == Reason::receiver_unavailable || reason == Reason::queue_overflow;
}

}  // namespace parley::core
