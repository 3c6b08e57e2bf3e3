// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "app/client/client.h"
#include "app/mcp/settings_text.h"

namespace parley::app {

// The coding agents that `parley mcp config` knows: where each reads its MCP servers, and how an
// entry is written there. None of them is ever given a token: over stdio `parley mcp` reads the
// agent's file, over HTTP the entry refers to the variable PARLEY_TOKEN, or to a prompt.
enum class McpClient : uint8_t { claude_code, codex, gemini, vscode, cursor };

// `claude-code`, …; in the order of the enum.
std::vector<std::string> mcp_client_names();
std::expected<McpClient, Failure> mcp_client_named(std::string_view name);

enum class Scope : uint8_t { project, user };

// The file in which the client reads its servers, and that in which it reads its hooks: of the
// project in the current directory, or of the user.
std::expected<std::string, Failure> settings_path(McpClient client, Scope scope);
std::expected<std::string, Failure> hooks_path(McpClient client, Scope scope);
// The other files in which it reads hooks beside that one: all of them run.
std::vector<std::string> other_hooks_paths(McpClient client, Scope scope);

// How the client reaches Parley.
struct McpEntry {
  std::string name = "parley";
  bool is_http = false;
  std::string url;                     // of HTTP: http://127.0.0.1:7455/mcp
  std::string command;                 // of stdio
  std::vector<std::string> arguments;  // of stdio
};

// The text of the client's settings with the entry in it.
std::expected<Settings, base::Error> with_entry(McpClient client, std::string_view settings,
                                                const McpEntry& entry, bool replace);

// The text of the client's settings with `command`, a line for a shell, at each of its events that
// have a place for mail. Another line that runs `parley hook` there counts as the entry.
std::expected<Settings, base::Error> with_hooks(McpClient client, std::string_view settings,
                                                std::string_view command, bool replace);

// Whether a line for a shell runs `parley hook`, wherever the program is.
bool runs_hook(std::string_view command);

// What a person has yet to do for it to work; a line each.
std::vector<std::string> what_is_left(McpClient client, Scope scope, const McpEntry& entry,
                                      bool has_hooks);

}  // namespace parley::app
