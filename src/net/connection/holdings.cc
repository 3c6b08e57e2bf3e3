// SPDX-License-Identifier: Apache-2.0
#include "net/connection/holdings.h"

#include <algorithm>
#include <string>

#include "net/connection/connection_state.h"

namespace parley::net {

namespace {

// Output that waits for a stranger before it is read no further: one answer, whatever its size.
constexpr size_t stranger_output_max = 16 * 1024;
// A connection that holds no more output than this may always be answered.
constexpr size_t output_share_min = 16 * 1024;
// When to try again after too much was held.
constexpr Duration again_after = base::seconds(1);

}  // namespace

Holdings::Holdings(Surroundings& around, ConnectionId connection)
    : around_(around),
      connection_(connection),
      account_(&around.accounts.open(Accounts::stranger)),
      place_(around.accounts.enter(connection)) {
  ++account_->connections;
}

Holdings::~Holdings() {
  count({});
  --account_->connections;
  around_.accounts.close(caller_);
  if (!is_caller_known()) {
    around_.accounts.leave(place_);
  }
}

void Holdings::set_caller(CallerId caller) {
  if (caller == caller_) {
    return;  // most often: one connection, one caller
  }
  const Bytes held = counted_;
  count({});
  --account_->connections;
  around_.accounts.close(caller_);
  if (caller_ == Accounts::stranger) {
    around_.accounts.leave(place_);
  } else if (caller == Accounts::stranger) {
    place_ = around_.accounts.enter(connection_);
  }
  caller_ = caller;
  account_ = &around_.accounts.open(caller);
  ++account_->connections;
  count(held);
}

void Holdings::heard() {
  if (!is_caller_known()) {
    around_.accounts.heard(place_);
  }
}

bool Holdings::may_connect() const {
  return !is_caller_known() ||
         account_->connections <= around_.limits.connections_per_principal_max;
}

void Holdings::count(const Bytes& held) {
  if (held == counted_) {
    return;
  }
  account_->unfinished_bytes += held.unfinished - counted_.unfinished;
  account_->unread_bytes += held.unread - counted_.unread;
  counted_ = held;
}

// The only connection of a caller is never refused: what it holds has a limit of its own.
bool Holdings::is_within_limits() const {
  if (!is_caller_known()) {
    return strangers_may_hold(0);
  }
  return account_->unfinished_bytes == counted_.unfinished ||
         account_->unfinished_bytes <= around_.limits.unfinished_bytes_per_principal_max;
}

Error Holdings::sends_too_much() const {
  if (!is_caller_known()) {
    return {Code::overloaded,
            "too much is held for callers that are not known yet; ask again after a pause, with "
            "the head of the request at once",
            {},
            again_after};
  }
  return {Code::rate_limited,
          "your unfinished requests hold over " +
              std::to_string(around_.limits.unfinished_bytes_per_principal_max) +
              " bytes (server.unfinished_bytes_per_principal_max); send fewer bodies at once",
          {},
          again_after};
}

// A connection that keeps to an even share is never turned away: all of them together stay within
// the limit.
bool Holdings::strangers_may_hold(size_t more) const {
  const Server::Limits& limits = around_.limits;
  const size_t all = limits.unauthenticated_bytes_max;
  return counted_.all() + more <= all / std::max<size_t>(limits.connections_max, 1) ||
         account_->unfinished_bytes + account_->unread_bytes + more <= all;
}

size_t Holdings::share_of_output() const {
  return std::max(around_.limits.unread_bytes_per_principal_max / account_->connections,
                  output_share_min);
}

bool Holdings::may_answer(size_t size) const {
  if (!is_caller_known()) {
    return strangers_may_hold(size);
  }
  return account_->unread_bytes + size <= around_.limits.unread_bytes_per_principal_max ||
         counted_.unread + size <= share_of_output();
}

Error Holdings::reads_too_little() const {
  return {Code::rate_limited,
          "over " + std::to_string(around_.limits.unread_bytes_per_principal_max) +
              " bytes of answers wait to be read on your connections "
              "(server.unread_bytes_per_principal_max); read them, or ask for less at once",
          {},
          again_after};
}

size_t Holdings::output_max() const {
  if (!is_caller_known()) {
    return std::min(stranger_output_max, around_.limits.buffered_max);
  }
  return account_->unread_bytes <= around_.limits.unread_bytes_per_principal_max
             ? around_.limits.buffered_max
             : std::min(share_of_output(), around_.limits.buffered_max);
}

}  // namespace parley::net
