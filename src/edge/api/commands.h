// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/agents/agents.h"
#include "core/model/command.h"
#include "lib/json.h"

namespace parley::edge {

// Commands as clients write them: the body of a request and an operation on a WebSocket have the
// same members, and mean the same. The texts of a command are those of the document.

// How a receiver is done with a message, or takes more time for it: a row of a table.
class Members;
struct Settling {
  std::string_view name;  // `ack`: of the operation, and the end of the path
  std::vector<std::string_view> members;
  core::Command (*make)(const core::Target& target, Members& members);
};
std::span<const Settling> settlings();
// The row of that name, which must be one of the table.
const Settling& settling_of(std::string_view name);

// What becomes of a message.
std::expected<core::Command, base::Error> settle_command(const Settling& settling,
                                                         const core::Target& target,
                                                         lib::Json body);

// The members of a heartbeat.
std::vector<std::string_view> heartbeat_members();

// What an agent says of how it is. What it leaves out stands as it was `before`.
std::expected<core::Heartbeat, base::Error> heartbeat_command(const core::Agent& before,
                                                              lib::Json body);

// What an agent may say of how it is; each dialect has its words.
std::expected<void, base::Error> check_status(core::Dialect dialect, std::string_view status);

// `queue`, `redirect`, `fail`; empty: as the rules say.
std::expected<core::OnUnavailable, base::Error> parse_on_unavailable(std::string_view text);

}  // namespace parley::edge
