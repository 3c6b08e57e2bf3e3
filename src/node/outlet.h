// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/model/effect.h"
#include "core/model/entry.h"
#include "core/model/outcome.h"

namespace parley::node {

// Names one submitted command, for its outcome: its number in the life of the node.
using Ticket = uint64_t;
// The first of a life says that the node started.
inline constexpr Ticket start_ticket = 1;

// Where a node tells what happened. It is called only for what is in the journal (durable, if
// that was promised), once per entry, in order.
class Outlet {
 public:
  virtual ~Outlet() = default;

  // The entry was applied. `ticket` is set when the command was submitted to this node.
  virtual void applied(const core::Entry& entry, const core::Outcome& outcome,
                       std::span<const core::Effect> effects, std::optional<Ticket> ticket) = 0;

  // A submitted command did not get into the journal (but see Journal::append).
  virtual void refused(Ticket ticket, const base::Error& error) = 0;
};

}  // namespace parley::node
