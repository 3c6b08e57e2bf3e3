// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/delivery/dispatch.h"
#include "core/model/outcome.h"

namespace parley::core {

struct Context;

// Of one thing the broker tells at most so many at once.
constexpr size_t told_max = 16;

// The broker will tell `item.to`, by itself or in a summary; returns which. 0: no one has that
// name, or there is no room.
uint64_t owe(Dispatch& dispatch, OutboxItem item);

// The same to each who answers for the workspace, at most 16; `item.to` is not set.
void owe_stewards(Dispatch& dispatch, OutboxItem item);
// The same to each who maintains it, also where an orchestrator answers for it; to the stewards
// where nobody does.
void owe_maintainers(Dispatch& dispatch, OutboxItem item);

// What the broker owes and could not send now, it can never send: it is the same message each time.
// What it was for ends here, so that no one waits for it. Does nothing when it was sent.
void give_up_outbox_item(Context& context, uint64_t id, const Outcome& outcome);

}  // namespace parley::core
