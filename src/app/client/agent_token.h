// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "app/client/find_broker.h"

namespace parley::app {

// Programs that act for an agent (an MCP client, a hook) find its token in a file of its own, so
// that no settings file has to hold it: $XDG_CONFIG_HOME/parley/agents/NAME.token, else under
// ~/.config, readable by its owner alone. NAME is percent-encoded.

// Where the file is, whether it is there or not. Fails when there is not even a home.
std::expected<std::string, Failure> agent_token_path(std::string_view agent);

// Makes the place ready and tries to write there, so that a token that is told only once is not
// asked for in vain. Refuses what store_agent_token() would refuse.
std::expected<std::string, Failure> ready_token_place(std::string_view agent);

// Writes the file as a whole or not at all. Never where git would commit it: the directory is
// ignored by a .gitignore of its own, and a file that is tracked nevertheless is refused.
std::expected<std::string, Failure> store_agent_token(std::string_view agent,
                                                      std::string_view token);

// The token of the file, which nobody but its owner may be able to read.
std::expected<std::string, Failure> kept_agent_token(std::string_view agent);

// What to say when the broker at `url` does not know the token that is kept for the agent.
Failure stale_token(std::string_view agent, const std::string& url);

// What --token and PARLEY_TOKEN take for it: `agent:NAME`. So the secret itself stays out of the
// environment.
inline constexpr std::string_view agent_token_prefix = "agent:";

// The broker, as that agent: its token is that of the file, unless --token gives it. With no agent
// the token has to be given by --token or PARLEY_TOKEN: the admin's is never taken for an agent's.
std::expected<BrokerAddress, Failure> find_broker_as(std::string_view agent, ClientOptions options);

}  // namespace parley::app
