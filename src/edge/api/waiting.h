// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "core/model/entry.h"
#include "edge/api/call.h"

namespace parley::edge {

// The calls that are answered later: each ends when it is answered, when its client hangs up, or
// soon after its token has ended.
class WaitingCalls {
 public:
  explicit WaitingCalls(Context& context) : context_(context) {}

  // Counts the call among those of its caller that wait. False, and the call is refused, when
  // there are too many of them: to be asked before anything is done for the call.
  bool begin(const Asker& asker);
  // `undo` is called when the caller waits no longer and was not answered.
  void add(const Asker& asker, std::function<void()> undo);
  // It is answered, or about to be.
  void remove(const net::Exchange& exchange);
  bool contains(const net::Exchange& exchange) const { return calls_.contains(exchange); }
  size_t size() const { return calls_.size(); }

  // Whoever waited is gone.
  void hang_up(const net::Exchange& exchange);
  void hang_up_all(net::ConnectionId connection);

  // A registration or a removal may have ended tokens: begins to look for calls that wait with one
  // of them.
  void applied(const core::Entry& entry, const core::Outcome& outcome);
  // Looks at some of them; to be called in each turn while `is_looking`.
  void end_stale();
  bool is_looking() const { return stale_from_.has_value(); }

 private:
  struct Waiting {
    Principal caller;
    std::function<void()> undo{};
    bool is_counted = false;
  };
  using Calls = std::map<net::Exchange, Waiting>;

  // Takes it out of the table and of the caller's account.
  Waiting take(Calls::iterator at);

  Context& context_;
  Calls calls_;
  // Where the look for calls whose token has ended goes on. None: nothing is looked for.
  std::optional<net::Exchange> stale_from_;
  bool looks_again_ = false;  // another token went meanwhile
};

}  // namespace parley::edge
