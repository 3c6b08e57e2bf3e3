// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/fair_queue.h"
#include "core/moderation/commands.h"
#include "edge/api/call.h"
#include "node/broker.h"

// What is sent for moderators alone (SP-09) never becomes a message.
namespace parley::edge {

class Context;

struct RaisedFlag {
  base::MessageId id;
  std::string text;  // as it was sent; cut where it is too long
  std::string problem{};
  std::string summary{};
};

// Flags go on from each other: one of a broker is on its way at a time, and callers take turns.
// Else all that are on their way but one would be journaled in vain, at the cost of their senders.
struct FlagLine {
  static constexpr size_t per_caller_max = 64;

  base::FairQueue<std::function<void()>> waiting;
  std::map<net::CallerId, size_t> counts;  // of those that wait, by caller
  bool is_busy = false;
};

// Puts it before the moderators, in its turn.
void raise_flag(Context& context, const Principal& caller, RaisedFlag flag,
                node::Broker::Done done);

// The hash of a flag that goes on from `previous`.
core::FlagHash chained(const core::FlagHash& previous, std::string_view sender,
                       const base::MessageId& id, const core::FlagHash& digest);

// The words of a flag, from its record.
std::expected<RaisedFlag, Error> flag_at(node::Broker& broker, core::WorkspaceId workspace,
                                         base::Seq record);

}  // namespace parley::edge
