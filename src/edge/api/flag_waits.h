// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>

#include "core/model/entry.h"
#include "edge/api/call.h"
#include "edge/waits.h"

namespace parley::edge {

// The calls of moderators that wait for a private flag: other mail does not wake them, as it does
// those in MailWaits. Each is answered in a turn of its caller. On the server's thread.
class FlagWaits {
 public:
  explicit FlagWaits(Context& context) : context_(context) {}

  // Calls `answer` when a flag of the caller's workspace was raised or resolved, or when the time
  // is over; never when the client hangs up before. WaitingCalls::begin has let it wait.
  void add(const Asker& asker, Duration wait, std::function<void()> answer);

  // To be called with each entry that was carried out.
  void applied(const core::Entry& entry, const core::Outcome& outcome);

 private:
  struct Waiting {
    core::WorkspaceId workspace{};
    net::CallerId caller{};
    Waits::Id timer = 0;
    std::function<void()> answer;
  };

  void answer_later(net::CallerId caller, const net::Exchange& exchange);
  // Takes the call out; what answers it, which is nothing when it does not wait any more.
  std::function<void()> take(const net::Exchange& exchange);

  Context& context_;
  std::map<net::Exchange, Waiting> waiting_;
};

}  // namespace parley::edge
