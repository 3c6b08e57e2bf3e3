// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "app/client/client.h"

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

// Replaces the file at `path` by one with these contents, or leaves the old one: written beside it,
// synced, renamed. Follows a link to the file itself, also to one that is not there yet, and makes
// the directories above it. With `before`, fails if the file holds anything else by now.
std::expected<void, Failure> replace_file(const std::string& path, std::string_view text,
                                          unsigned mode,
                                          std::optional<std::string_view> before = {});

// The contents of a file of settings; empty when there is none. Fails for what is no plain file.
std::expected<std::string, Failure> read_settings(const std::string& path);

// The user's home; a failure that names `what` needs it when there is none.
std::expected<std::string, Failure> home_directory(std::string_view what);

// Whether git tracks the file, or would with the next `git add`: it lies in a work tree and is not
// ignored. Fails when it lies in one and git cannot be asked.
std::expected<bool, Failure> git_would_commit(const std::string& path);

}  // namespace parley::app
