// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>

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

// Puts it before the moderators. Flags go on from each other one at a time: one that was overtaken
// is asked for again.
void raise_flag(Context& context, const Principal& caller, RaisedFlag flag,
                node::Broker::Done done);

// The hash of a flag that goes on from `previous`.
core::FlagHash chained(const core::FlagHash& previous, std::string_view sender,
                       const base::MessageId& id, const core::FlagHash& digest);

// The words of a flag, from its record.
std::expected<RaisedFlag, Error> flag_at(node::Broker& broker, core::WorkspaceId workspace,
                                         base::Seq record);

}  // namespace parley::edge
