// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "core/debates/debate_acts.h"
#include "core/delivery/routing.h"
#include "core/machine/context.h"

namespace parley::core {

// What becomes of a message that is not refused.
struct SendPlan {
  uint64_t content = 0;
  MessageRef repeated = none;       // it was sent before; the rest is not set
  std::optional<Receipt> given;     // its task was given before; likewise
  MessageRef question = none;       // that it answers
  DeliveryRef acknowledged = none;  // what a message acknowledges
  DebateMove debate;
  bool answers = false;  // someone waits for that answer
  Route route;
  bool in_session = false;
  MessageRef cause = none;
  std::optional<WaitGraph::Edge> wait;
  std::vector<WaitGraph::Edge> in_circle;
  ThreadPlace thread;
  Exchanged exchanges{};
  uint64_t receivers = 0;
  MessageRef extended = none;  // the request for which it asks for more time
  std::string held;            // why people must approve it first; empty: they need not
};

// All that refuses a message before anything is changed: the same at the door, where a refusal
// costs no entry, and in `apply`. A message to one receiver who is away is accepted first and
// refused after it is stored, so that it can be delivered later: see `accept`. One that was sent
// before may be refused again (`repeat_refused`, `block_again`).
std::expected<SendPlan, Error> plan_send(ConstContext context, const Send& command);

// What is wrong with the message itself, not with the moment: a send that is refused for it leaves
// a dead letter. It is known by the error's code: see `refuse` in core/model/refusal.h.
bool is_malformed(const Error& error);

Outcome on(Context& context, const Send& command);

}  // namespace parley::core
