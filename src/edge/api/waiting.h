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

  // `undo` is called when the caller waits no longer and was not answered.
  void add(const Asker& asker, std::function<void()> undo);
  // It is answered, or about to be.
  void remove(const net::Exchange& exchange) { calls_.erase(exchange); }
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
    std::function<void()> undo;
  };

  Context& context_;
  std::map<net::Exchange, Waiting> calls_;
  // Where the look for calls whose token has ended goes on. None: nothing is looked for.
  std::optional<net::Exchange> stale_from_;
  bool looks_again_ = false;  // another token went meanwhile
};

}  // namespace parley::edge
