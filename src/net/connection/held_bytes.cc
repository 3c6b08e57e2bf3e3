// SPDX-License-Identifier: Apache-2.0
#include "net/connection/held_bytes.h"

#include <algorithm>

#include "net/connection/connection_state.h"

namespace parley::net {

void HeldBytes::count(size_t held) {
  if (counted_for_ != caller_) {
    add_to_account(0);
    counted_for_ = caller_;
  }
  add_to_account(held);
}

void HeldBytes::add_to_account(size_t held) {
  if (held == counted_) {
    return;  // most often: a request that came whole leaves nothing
  }
  size_t& all =
      counted_for_ == 0 ? around_.unauthenticated_bytes : around_.unfinished_bytes[counted_for_];
  all += held - counted_;
  counted_ = held;
  if (all == 0 && counted_for_ != 0) {
    around_.unfinished_bytes.erase(counted_for_);
  }
}

// A connection that keeps to an even share is never turned away: all of them together stay within
// the limit.
bool HeldBytes::may_hold(size_t held, size_t more) {
  count(held);
  const Server::Limits& limits = around_.limits;
  const size_t all = limits.unauthenticated_bytes_max;
  return counted_ + more <= all / std::max<size_t>(limits.connections_max, 1) ||
         around_.unauthenticated_bytes + more <= all;
}

// The only connection of a caller is never refused: what it holds has a limit of its own.
bool HeldBytes::is_within_share(size_t held) {
  count(held);
  if (counted_ == 0) {
    return true;
  }
  const size_t all = around_.unfinished_bytes.at(caller_);
  return all == counted_ || all <= around_.limits.unfinished_bytes_per_principal_max;
}

}  // namespace parley::net
