// SPDX-License-Identifier: Apache-2.0
#include "edge/api/flag_waits.h"

#include <utility>
#include <variant>

#include "edge/api/context.h"
#include "edge/api/waiting.h"

namespace parley::edge {

void FlagWaits::add(const Asker& asker, Duration wait, std::function<void()> answer) {
  const net::CallerId caller = caller_id(asker.caller);
  const net::Exchange exchange = asker.exchange;
  const Waits::Id timer = context_.waits.add(
      asker.now() + wait, [this, caller, exchange] { answer_later(caller, exchange); });
  waiting_[exchange] = {asker.caller.workspace, caller, timer, std::move(answer)};
  context_.waiting->add(asker, [this, exchange] { take(exchange); });
}

void FlagWaits::applied(const core::Entry& entry, const core::Outcome& outcome) {
  const bool changes_flags = std::holds_alternative<core::RaiseFlag>(entry.command) ||
                             std::holds_alternative<core::ResolveFlag>(entry.command);
  if (!changes_flags || !outcome) {
    return;
  }
  for (const auto& [exchange, waiting] : waiting_) {
    if (waiting.workspace == entry.workspace) {
      answer_later(waiting.caller, exchange);
    }
  }
}

// In its turn it may be gone, or wait anew: it looks again then, and waits on.
void FlagWaits::answer_later(net::CallerId caller, const net::Exchange& exchange) {
  context_.deferred.push(caller, [this, exchange] {
    if (const std::function<void()> answer = take(exchange)) {
      answer();
    }
  });
}

std::function<void()> FlagWaits::take(const net::Exchange& exchange) {
  auto waiting = waiting_.extract(exchange);
  if (!waiting) {
    return {};
  }
  context_.waits.remove(waiting.mapped().timer);
  return std::move(waiting.mapped().answer);
}

}  // namespace parley::edge
