// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "edge/events/event.h"
#include "edge/events/routing.h"
#include "edge/events/schedule.h"

namespace parley::edge::events {

// The text of superprompt allows 100 KB for a message. What the broker adds on its way has room.
constexpr size_t delegation_bytes_max = 96 * 1024;

// A task_delegation of superprompt, ready to be sent.
struct Delegation {
  base::MessageId id;
  std::string key;   // for idempotency: the same for one event whatever its route
  std::string text;  // JSON
};

// In whose name it is sent, and when.
struct Supervisor {
  std::string_view name;
  base::Time now;
};

Delegation delegation_of(const Event& event, const TaskTerms& terms, const Supervisor& from);
// The same for a schedule whose turn came at `slot`.
Delegation delegation_of(const Schedule& schedule, base::Time slot, const Supervisor& from);

// The beginning of the text that takes at most `escaped_max` bytes within JSON, a mark with the
// whole length behind it; the text itself where that fits. No character is cut in two.
std::string excerpt(std::string_view text, size_t escaped_max);

}  // namespace parley::edge::events
