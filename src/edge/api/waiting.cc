// SPDX-License-Identifier: Apache-2.0
#include "edge/api/waiting.h"

#include <utility>
#include <variant>
#include <vector>

#include "edge/api/context.h"

namespace parley::edge {

bool WaitingCalls::begin(const Asker& asker) {
  const auto refused =
      context_.server->begin_wait(caller_id(asker.caller), asker.exchange.connection);
  if (refused) {
    asker.refuse(*refused);
    return false;
  }
  calls_[asker.exchange] = {.caller = asker.caller, .undo = [] {}, .is_counted = true};
  return true;
}

void WaitingCalls::add(const Asker& asker, std::function<void()> undo) {
  const auto at = calls_.try_emplace(asker.exchange, asker.caller).first;
  at->second.undo = std::move(undo);
}

WaitingCalls::Waiting WaitingCalls::take(Calls::iterator at) {
  Waiting taken = std::move(at->second);
  if (taken.is_counted) {
    context_.server->end_wait(caller_id(taken.caller), at->first.connection);
  }
  calls_.erase(at);
  return taken;
}

void WaitingCalls::remove(const net::Exchange& exchange) {
  if (const auto at = calls_.find(exchange); at != calls_.end()) {
    take(at);
  }
}

void WaitingCalls::hang_up(const net::Exchange& exchange) {
  if (const auto at = calls_.find(exchange); at != calls_.end()) {
    take(at).undo();
  }
}

void WaitingCalls::hang_up_all(net::ConnectionId connection) {
  const net::Exchange first{connection, 0};
  for (auto at = calls_.lower_bound(first);
       at != calls_.end() && at->first.connection == connection; at = calls_.lower_bound(first)) {
    take(at).undo();
  }
}

void WaitingCalls::applied(const core::Entry& entry, const core::Outcome& outcome) {
  if (outcome && (std::holds_alternative<core::Unregister>(entry.command) ||
                  std::holds_alternative<core::Register>(entry.command))) {
    looks_again_ = stale_from_.value_or(net::Exchange{}) != net::Exchange{};
    stale_from_ = stale_from_.value_or(net::Exchange{});
  }
}

// XD-04: whoever waits with a token that is not valid any more waits for nothing. Some are looked
// at in a turn: a client may have a thousand calls that wait on each of its connections. A call
// that is answered before its turn has come is checked at that moment.
void WaitingCalls::end_stale() {
  constexpr size_t looked_at_max = 1'000;
  constexpr size_t ended_max = 100;
  if (!stale_from_) {
    return;
  }
  std::vector<net::Exchange> stale;
  size_t looked_at = 0;
  auto at = calls_.lower_bound(*stale_from_);
  for (; at != calls_.end() && looked_at < looked_at_max && stale.size() < ended_max; ++at) {
    ++looked_at;
    if (!is_current(context_.broker.machine(), at->second.caller)) {
      stale.push_back(at->first);
    }
  }
  if (at != calls_.end()) {
    stale_from_ = at->first;
  } else {
    stale_from_ =
        std::exchange(looks_again_, false) ? std::optional(net::Exchange{}) : std::nullopt;
  }
  for (const net::Exchange& exchange : stale) {
    if (const auto waiting = calls_.find(exchange); waiting != calls_.end()) {
      take(waiting).undo();
      context_.refuse_stale(exchange);
    }
  }
}

}  // namespace parley::edge
