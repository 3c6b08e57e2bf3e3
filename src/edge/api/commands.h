// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/agents/agents.h"
#include "core/model/command.h"
#include "lib/json.h"

namespace parley::edge {

// Commands as clients write them: the body of a request and an operation on a WebSocket have the
// same members, and mean the same. The texts of a command are those of the document.

// The members that the body of a command has: of ack, nack, reject, extend and heartbeat.
std::vector<std::string_view> body_members(std::string_view command);

// What becomes of a message: `act` is ack, nack, reject or extend.
std::expected<core::Command, base::Error> settle_command(std::string_view act,
                                                         const core::Target& target,
                                                         lib::Json body);

// What an agent says of how it is. What it leaves out stands as it was `before`.
std::expected<core::Heartbeat, base::Error> heartbeat_command(const core::Agent& before,
                                                              lib::Json body);

// What an agent may say of how it is; each dialect has its words.
std::expected<void, base::Error> check_status(core::Dialect dialect, std::string_view status);

// `queue`, `redirect`, `fail`; empty: as the rules say.
std::expected<core::OnUnavailable, base::Error> parse_on_unavailable(std::string_view text);

}  // namespace parley::edge
