// SPDX-License-Identifier: Apache-2.0
#include "app/mcp/clients.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "app/files.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::JsonWriter;

// How a value of the environment is written into a header; Codex names the variable instead.
struct ClientInfo {
  std::string_view name;
  std::string_view project_file;
  std::string_view key;
  bool says_type = false;  // "type": "stdio" or "http"
  std::string_view url_key;
  std::string_view authorization;
  // Hooks: the file below the project or the home, the events, the timeout in the client's unit.
  std::string_view hooks_file;
  std::array<std::string_view, 3> events;
  int timeout = 0;
};

constexpr std::array<ClientInfo, 5> clients = {{
    // Its hooks in a project are in the file that is not shared: they have an agent's name.
    {"claude-code",
     ".mcp.json",
     "mcpServers",
     true,
     "url",
     "Bearer ${PARLEY_TOKEN}",
     ".claude/settings.local.json",
     {"SessionStart", "UserPromptSubmit", "Stop"},
     5},
    {"codex",
     ".codex/config.toml",
     "mcp_servers",
     false,
     "url",
     "",
     ".codex/hooks.json",
     {"SessionStart", "UserPromptSubmit", "Stop"},
     5},
    {"gemini",
     ".gemini/settings.json",
     "mcpServers",
     false,
     "httpUrl",
     "Bearer $PARLEY_TOKEN",
     ".gemini/settings.json",
     {"SessionStart", "BeforeAgent", "AfterAgent"},
     5'000},
    // Not every version puts ${env:…} into headers; a prompt keeps the token for the user. Its
    // hooks are those of Claude Code.
    {"vscode",
     ".vscode/mcp.json",
     "servers",
     true,
     "url",
     "Bearer ${input:parley-token}",
     ".claude/settings.local.json",
     {"SessionStart", "UserPromptSubmit", "Stop"},
     5},
    {"cursor",
     ".cursor/mcp.json",
     "mcpServers",
     false,
     "url",
     "Bearer ${env:PARLEY_TOKEN}",
     ".cursor/hooks.json",
     {"sessionStart", "stop"},
     0},
}};

constexpr std::string_view token_prompt =
    R"({"type":"promptString","id":"parley-token","description":"Token of the Parley agent",)"
    R"("password":true})";

const ClientInfo& info_of(McpClient client) { return clients[static_cast<size_t>(client)]; }

std::string variable_or(const char* name, std::string other) {
  const char* value = std::getenv(name);
  return value == nullptr || *value != '/' ? std::move(other) : value;
}

std::expected<std::string, Failure> here(std::string_view file) {
  std::error_code failed;
  const auto directory = std::filesystem::current_path(failed);
  if (failed) {
    return std::unexpected(Failure{"BAD_REQUEST", "there is no current directory", {}});
  }
  return (directory / file).string();
}

// One hook: Cursor has the command alone, and limits how often an end is put off.
std::string hook_entry(const ClientInfo& info, std::string_view event, std::string_view command) {
  std::string out;
  JsonWriter writer(out);
  if (info.timeout == 0) {
    writer.object().key("command").text(command);
    if (event == "stop") {
      writer.key("loop_limit").number(2);
    }
    writer.end_object();
    return out;
  }
  writer.object().key("hooks").array().object().key("type").text("command").key("command");
  writer.text(command).key("timeout").number(info.timeout);
  writer.end_object().end_array().end_object();
  return out;
}

std::string json_entry(const ClientInfo& info, const McpEntry& entry) {
  std::string out;
  JsonWriter writer(out);
  writer.object();
  if (info.says_type) {
    writer.key("type").text(entry.is_http ? "http" : "stdio");
  }
  if (entry.is_http) {
    writer.key(info.url_key).text(entry.url);
    writer.key("headers").object().key("Authorization").text(info.authorization).end_object();
  } else {
    writer.key("command").text(entry.command).key("args").array();
    for (const std::string& argument : entry.arguments) {
      writer.text(argument);
    }
    writer.end_array();
  }
  writer.end_object();
  return out;
}

// TOML's basic strings have JSON's escapes.
std::string toml_lines(const McpEntry& entry) {
  std::string out = entry.is_http ? "url = " : "command = ";
  lib::append_json_string(out, entry.is_http ? entry.url : entry.command);
  if (entry.is_http) {
    return out + "\nbearer_token_env_var = \"PARLEY_TOKEN\"\n";
  }
  out += "\nargs = [";
  for (const std::string& argument : entry.arguments) {
    out += out.ends_with('[') ? "" : ", ";
    lib::append_json_string(out, argument);
  }
  return out + "]\n";
}

}  // namespace

std::vector<std::string> mcp_client_names() {
  std::vector<std::string> names;
  for (const ClientInfo& info : clients) {
    names.emplace_back(info.name);
  }
  return names;
}

std::expected<McpClient, Failure> mcp_client_named(std::string_view name) {
  for (size_t i = 0; i < clients.size(); ++i) {
    if (clients[i].name == name) {
      return static_cast<McpClient>(i);
    }
  }
  return std::unexpected(Failure{"BAD_REQUEST", "there is no client " + std::string(name),
                                 "See `parley mcp config --help`."});
}

std::expected<std::string, Failure> settings_path(McpClient client, Scope scope) {
  if (scope == Scope::project) {
    return here(info_of(client).project_file);
  }
  const auto home = home_directory("the settings of a user");
  if (!home) {
    return std::unexpected(home.error());
  }
  switch (client) {
    case McpClient::claude_code:
      return variable_or("CLAUDE_CONFIG_DIR", *home) + "/.claude.json";
    case McpClient::codex:
      return variable_or("CODEX_HOME", *home + "/.codex") + "/config.toml";
    case McpClient::gemini:
      return *home + "/.gemini/settings.json";
    case McpClient::vscode:
      return variable_or("XDG_CONFIG_HOME", *home + "/.config") + "/Code/User/mcp.json";
    case McpClient::cursor:
      break;
  }
  return *home + "/.cursor/mcp.json";
}

std::expected<Settings, base::Error> with_entry(McpClient client, std::string_view settings,
                                                const McpEntry& entry, bool replace) {
  const ClientInfo& info = info_of(client);
  const std::array<std::string, 2> path = {std::string(info.key), entry.name};
  if (client == McpClient::codex) {
    return add_toml_table(settings, path, toml_lines(entry), replace);
  }
  auto edit = add_json_member(settings, path, json_entry(info, entry), replace);
  const bool wants_prompt = client == McpClient::vscode && entry.is_http;
  if (!edit || !wants_prompt || edit->change == Settings::Change::refused) {
    return edit;
  }
  const std::array<std::string, 1> inputs = {"inputs"};
  auto prompted = add_json_element(edit->text, inputs, token_prompt, R"("id":"parley-token")");
  if (prompted && prompted->change == Settings::Change::none) {
    return edit;
  }
  return prompted;
}

std::expected<std::string, Failure> hooks_path(McpClient client, Scope scope) {
  if (scope == Scope::project) {
    return here(info_of(client).hooks_file);
  }
  const auto home = home_directory("the settings of a user");
  if (!home) {
    return home;
  }
  switch (client) {
    case McpClient::claude_code:
      return variable_or("CLAUDE_CONFIG_DIR", *home + "/.claude") + "/settings.json";
    case McpClient::codex:
      return variable_or("CODEX_HOME", *home + "/.codex") + "/hooks.json";
    case McpClient::vscode:
      return *home + "/.claude/settings.json";  // wherever Claude Code's own is
    case McpClient::gemini:
    case McpClient::cursor:
      break;
  }
  return *home + "/" + std::string(info_of(client).hooks_file);
}

std::vector<std::string> other_hooks_paths(McpClient client, Scope scope) {
  std::vector<std::string> paths;
  const auto add = [&](const std::expected<std::string, Failure>& path) {
    if (path && path != hooks_path(client, scope)) {
      paths.push_back(*path);
    }
  };
  add(hooks_path(client, Scope::project));
  add(hooks_path(client, Scope::user));
  if (client == McpClient::claude_code || client == McpClient::vscode) {
    add(here(".claude/settings.json"));  // shared by all who work on the project
  }
  return paths;
}

bool runs_hook(std::string_view command) {
  std::vector<std::string> words = {""};
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool is_space = c == ' ' || c == '\t' || c == '\n';
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
    } else if (quote == 0 && is_space) {
      words.resize(words.size() + (words.back().empty() ? 0 : 1));
    } else if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      words.back() += command[++i];
    } else {
      words.back() += c;
    }
  }
  // Variables may be set before it: PARLEY_DATA=/x parley hook.
  const auto program = std::ranges::find_if(words, [](const std::string& word) {
    return word.find('=') == word.npos || word.find('/') < word.find('=');
  });
  return program != words.end() && program + 1 != words.end() &&
         std::filesystem::path(*program).filename() == "parley" && program[1] == "hook";
}

std::expected<Settings, base::Error> with_hooks(McpClient client, std::string_view settings,
                                                std::string_view command, bool replace) {
  using Change = Settings::Change;
  const ClientInfo& info = info_of(client);
  Settings whole{Change::none, std::string(settings)};
  if (client == McpClient::cursor) {
    const std::array<std::string, 1> version = {"version"};
    auto edit = add_json_member(whole.text, version, "1", false);
    if (!edit) {
      return edit;
    }
    if (edit->change == Change::added) {
      whole = std::move(*edit);
    }
  }
  for (const std::string_view event : info.events) {
    const std::array<std::string, 2> path = {"hooks", std::string(event)};
    if (event.empty()) {
      continue;
    }
    auto edit = add_json_hook(whole.text, path, hook_entry(info, event, command), command,
                              runs_hook, replace);
    if (!edit || edit->change == Change::refused) {
      return edit;
    }
    const bool is_same = edit->change == Change::none;
    const bool was_replaced = whole.change == Change::replaced;
    whole.text = std::move(edit->text);
    whole.change = is_same || was_replaced ? whole.change : edit->change;
  }
  return whole;
}

std::vector<std::string> what_is_left(McpClient client, Scope scope, const McpEntry& entry,
                                      bool has_hooks) {
  std::vector<std::string> left;
  if (entry.is_http && client == McpClient::vscode) {
    left.emplace_back("VS Code asks for the agent's token when it starts the server.");
  } else if (entry.is_http) {
    left.emplace_back("Start the client with the agent's token in PARLEY_TOKEN.");
  }
  if (client == McpClient::codex && scope == Scope::project) {
    left.emplace_back("Codex reads the file of a project only where the project is trusted.");
  }
  if (client == McpClient::codex && has_hooks) {
    left.emplace_back("Codex runs hooks only after you have trusted them: /hooks shows them.");
  }
  if (client == McpClient::vscode && has_hooks) {
    left.emplace_back("Hooks are a preview in VS Code, and may have to be allowed there.");
  }
  return left;
}

}  // namespace parley::app
