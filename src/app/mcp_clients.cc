// SPDX-License-Identifier: Apache-2.0
#include "app/mcp_clients.h"

#include <array>
#include <cstdlib>
#include <filesystem>

#include "app/agent_token.h"
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
};

constexpr std::array<ClientInfo, 5> clients = {{
    {"claude-code", ".mcp.json", "mcpServers", true, "url", "Bearer ${PARLEY_TOKEN}"},
    {"codex", ".codex/config.toml", "mcp_servers", false, "url", ""},
    {"gemini", ".gemini/settings.json", "mcpServers", false, "httpUrl", "Bearer $PARLEY_TOKEN"},
    // Not every version puts ${env:…} into headers; a prompt keeps the token for the user.
    {"vscode", ".vscode/mcp.json", "servers", true, "url", "Bearer ${input:parley-token}"},
    {"cursor", ".cursor/mcp.json", "mcpServers", false, "url", "Bearer ${env:PARLEY_TOKEN}"},
}};

constexpr std::string_view token_prompt =
    R"({"type":"promptString","id":"parley-token","description":"Token of the Parley agent",)"
    R"("password":true})";

const ClientInfo& info_of(McpClient client) { return clients[static_cast<size_t>(client)]; }

std::string variable_or(const char* name, std::string other) {
  const char* value = std::getenv(name);
  return value == nullptr || *value != '/' ? std::move(other) : value;
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
    std::error_code failed;
    const auto here = std::filesystem::current_path(failed);
    if (failed) {
      return std::unexpected(Failure{"BAD_REQUEST", "there is no current directory", {}});
    }
    return (here / info_of(client).project_file).string();
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
  auto prompted = add_json_element(edit->text, "inputs", token_prompt);
  if (prompted && prompted->change == Settings::Change::none) {
    return edit;
  }
  return prompted;
}

std::string what_is_left(McpClient client, const McpEntry& entry) {
  if (entry.is_http && client == McpClient::vscode) {
    return "VS Code asks for the agent's token when it starts the server.";
  }
  if (entry.is_http) {
    return "Start the client with the agent's token in PARLEY_TOKEN.";
  }
  if (client == McpClient::codex) {
    return "Codex reads the file of a project only where the project is trusted.";
  }
  return {};
}

}  // namespace parley::app
