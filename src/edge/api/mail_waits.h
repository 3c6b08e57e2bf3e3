// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "edge/api/call.h"
#include "edge/waits.h"
#include "node/waiters.h"

namespace parley::edge {

// The calls that wait for mail. Thousands may wait, and one message may wake those of very many
// callers: the broker wakes one of each caller, and the turns answer the others.
class MailWaits {
 public:
  explicit MailWaits(Context& context) : context_(context) {}

  // Calls `answer` when mail for the caller has come, or when the time is over; never when the
  // client hangs up before. WaitingCalls::begin has let it wait. With an approval it ends when that
  // changes, too; with 0, when any does.
  void add(const Asker& asker, Duration wait, std::function<void()> answer,
           std::optional<uint64_t> approval = std::nullopt);

 private:
  struct Waiting {
    Waits::Id timer = 0;
    std::function<void()> answer;
    std::optional<node::Waiter> approval{};
  };
  using Calls = std::map<net::Exchange, Waiting>;
  // Of one caller; one of the tables has something.
  struct Line {
    node::Waiter waiter;  // where `calls` has something
    Calls calls;
    Calls woken;  // to be answered
  };

  void wake(net::CallerId caller);
  void end_wait(net::CallerId caller, const net::Exchange& exchange);
  void answer_later(net::CallerId caller);
  void answer_one(net::CallerId caller);
  // Takes the call out; what answers it, which is nothing when it does not wait any more.
  std::function<void()> take(net::CallerId caller, const net::Exchange& exchange);

  Context& context_;
  std::unordered_map<net::CallerId, Line> lines_;
};

}  // namespace parley::edge
