// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/model/entry.h"
#include "edge/api/call.h"
#include "view/runner.h"

namespace parley::edge {

// Asks the view on behalf of callers, each of whom finds there what it did itself.
class History {
 public:
  // So many questions of one principal may be without an answer.
  History(Context& context, size_t questions_per_principal_max);

  void applied(const core::Entry& entry);

  // Asks when what the caller did is in the view. The question runs on another thread: it must not
  // touch the broker. What it returns runs on the server's thread, or the call is refused with the
  // error that it returns; or with 401, when the caller's token has ended meanwhile; or now with
  // RATE_LIMITED, when the caller asks too much at once. Callers take turns.
  void ask(const Asker& asker, view::Questions::Ask ask);

  // Counts as a question of the caller's until it goes: for an answer that is written in steps, and
  // keeps what was found until then. May outlive this.
  std::shared_ptr<void> hold(const Principal& caller);

 private:
  using Open = std::unordered_map<net::CallerId, size_t>;
  // Whether the caller may ask one more; then it is counted until `answered`.
  bool count(net::CallerId caller);
  void answered(net::CallerId caller) { answered(*open_, caller); }
  static void answered(Open& open, net::CallerId caller);

  Context& context_;
  size_t questions_per_principal_max_;
  // Without an answer; who has none is not here.
  const std::shared_ptr<Open> open_ = std::make_shared<Open>();
  base::Seq started_;                                // what was there when this began
  std::unordered_map<uint64_t, base::Seq> written_;  // by workspace and principal: its newest entry
};

}  // namespace parley::edge
