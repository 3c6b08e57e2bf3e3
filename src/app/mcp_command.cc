// SPDX-License-Identifier: Apache-2.0
#include "app/mcp_command.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "app/agent_token.h"
#include "app/commands.h"
#include "app/mcp_clients.h"
#include "app/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;
using Change = Settings::Change;

constexpr size_t settings_bytes_max = size_t{32} << 20;

// Shared by the closures, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string agent;
  std::string for_client;
  std::string scope = "project";
  std::string transport = "stdio";
  std::string name = "parley";
  std::string dialect = "inbox";
  std::string role;
  bool write = false;
  bool replace = false;
  bool do_register = false;
  bool hooks = false;
};

// `parley` where the shell finds this very program under that name, else its path.
std::string own_command() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path found = fs::path(rest.substr(0, end)) / "parley";
    if (fs::exists(found, failed)) {
      return fs::equivalent(found, self, failed) ? "parley" : self.string();
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return self.string();
}

// Which broker, for what a client starts: with a few variables only, so that ours become arguments.
std::vector<std::string> broker_arguments(const Options& options) {
  std::vector<std::string> arguments;
  const auto pass_on = [&](const char* flag, std::string value, const char* variable) {
    if (const char* set = std::getenv(variable); value.empty() && set != nullptr) {
      value = set;
    }
    if (!value.empty()) {
      const bool is_path = std::string_view(flag) != "--url";
      arguments.emplace_back(flag);
      arguments.push_back(is_path ? fs::absolute(value).string() : value);
    }
  };
  pass_on("--url", options.client.url, "PARLEY_URL");
  pass_on("--ca", options.client.ca, "PARLEY_CA");
  pass_on("--data", options.client.data, "PARLEY_DATA");
  return arguments;
}

McpEntry entry_of(const Options& options) {
  McpEntry entry{.name = options.name, .is_http = options.transport == "http"};
  if (entry.is_http) {
    const auto broker = find_broker(options.client);
    entry.url = (broker ? broker->url : "http://127.0.0.1:7455") + "/mcp";
    return entry;
  }
  entry.command = own_command();
  entry.arguments = {"mcp", "--agent", options.agent};
  for (std::string& argument : broker_arguments(options)) {
    entry.arguments.push_back(std::move(argument));
  }
  return entry;
}

// As a shell takes it for one word.
std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
    return word;
  }
  std::string out = "'";
  for (const char c : word) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

std::string hook_line(const Options& options) {
  std::string line = quoted(own_command()) + " hook --agent " + quoted(options.agent);
  for (const std::string& argument : broker_arguments(options)) {
    line += " " + quoted(argument);
  }
  return line;
}

// The contents; empty when there is no such file.
std::expected<std::string, Failure> settings_of(const std::string& path) {
  std::error_code failed;
  if (!fs::exists(path, failed) && !failed) {
    return std::string();
  }
  std::ifstream file(path, std::ios::binary);
  const auto size = fs::file_size(path, failed);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (failed || !file || size > settings_bytes_max) {
    return std::unexpected(Failure{"BAD_REQUEST", path + " cannot be read, or is too large",
                                   "Leave out --write and add the entry by hand."});
  }
  return text;
}

// Makes the agent, as admin, unless its token is at hand already.
std::expected<void, Failure> register_agent(const Options& options) {
  const auto path = agent_token_path(options.agent);
  std::error_code none;
  if (!path || fs::exists(*path, none)) {
    return path ? std::expected<void, Failure>() : std::unexpected(path.error());
  }
  std::string body;
  lib::JsonWriter writer(body);
  writer.object().key("id").text(options.agent).key("dialect").text(options.dialect);
  if (!options.role.empty() || options.dialect == "inbox") {
    writer.key("role").text(options.role.empty() ? "specialist" : options.role);
  }
  writer.end_object();
  const auto reply = ask(options.client, {"POST", "/v1/agents", body, {}});
  if (!reply) {
    return std::unexpected(reply.error());
  }
  lib::JsonDocument document;
  const auto answer = document.parse(reply->body);
  const std::string token = answer ? text_of(*answer, "token") : "";
  if (token.empty()) {
    return std::unexpected(Failure{
        "CONFLICT", options.agent + " is registered already, and its token is told only once",
        "Keep the token you have with `parley agent keep " + options.agent + "`."});
  }
  const auto kept = store_agent_token(options.agent, token);
  if (!kept) {
    return std::unexpected(kept.error());
  }
  std::fprintf(stderr, "%s is registered; its token is in %s\n", printable(options.agent).c_str(),
               kept->c_str());
  return {};
}

void tell_what_is_left(const Options& options, McpClient client, const McpEntry& entry) {
  if (const std::string left = what_is_left(client, entry); !left.empty()) {
    std::fprintf(stderr, "%s\n", left.c_str());
  }
  const auto path = agent_token_path(options.agent);
  std::error_code none;
  if (!entry.is_http && path && !fs::exists(*path, none)) {
    const std::string agent = printable(options.agent);
    std::fprintf(stderr,
                 "There is no token of %s in %s yet: register it with --register, or\n"
                 "  parley agent add %s --dialect inbox --role specialist | parley agent keep %s\n",
                 agent.c_str(), path->c_str(), agent.c_str(), agent.c_str());
  }
}

// Prints the text, or writes it if that is asked for and changes anything.
int put(const Options& options, const std::string& path, const Settings& edit, const char* what) {
  if (!options.write) {
    std::printf("%s", edit.text.c_str());
    std::fflush(stdout);
    std::fprintf(stderr, "This belongs into %s; --write puts it there.\n", path.c_str());
    return 0;
  }
  switch (edit.change) {
    case Change::none:
      std::printf("%s has %s already\n", path.c_str(), what);
      return 0;
    case Change::refused:
      return complain({"CONFLICT", path + " has another entry " + options.name,
                       "--replace replaces it; --name NAME adds one beside it."});
    case Change::added:
    case Change::replaced:
      break;
  }
  struct stat info{};
  const unsigned mode = ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0644;
  if (const auto written = replace_file(path, edit.text, mode); !written) {
    return complain(written.error());
  }
  std::printf("%s %s in %s\n", edit.change == Change::added ? "added" : "replaced", what,
              path.c_str());
  return 0;
}

// Puts into the file at `path` what `add` adds to its text.
template <class Add>
int put_into(const Options& options, const std::expected<std::string, Failure>& path,
             const char* what, const Add& add) {
  const auto text = !path           ? std::unexpected(path.error())
                    : options.write ? settings_of(*path)
                                    : std::string();
  if (!text) {
    return complain(text.error());
  }
  const std::expected<Settings, base::Error> edit = add(*text);
  if (!edit) {
    return complain({"BAD_REQUEST", "cannot add to " + *path + ": " + edit.error().detail,
                     "Leave out --write and add it by hand."});
  }
  return put(options, *path, *edit, what);
}

int config(const Options& options) {
  const auto client = mcp_client_named(options.for_client);
  if (!client) {
    return complain(client.error());
  }
  if (options.do_register) {
    if (const auto done = register_agent(options); !done) {
      return complain(done.error());
    }
  }
  const Scope scope = options.scope == "user" ? Scope::user : Scope::project;
  const McpEntry entry = entry_of(options);
  int code = put_into(options, settings_path(*client, scope), printable(options.name).c_str(),
                      [&](const std::string& text) {
                        return with_entry(*client, text, entry, options.replace);
                      });
  if (code == 0 && options.hooks) {
    code = put_into(
        options, hooks_path(*client, scope), "hooks",
        [&](const std::string& text) { return with_hooks(*client, text, hook_line(options)); });
  }
  if (code == 0) {
    tell_what_is_left(options, *client, entry);
  }
  return code;
}

void add_config_command(CLI::App& mcp, int& exit_code, const std::shared_ptr<Options>& options) {
  CLI::App* command = mcp.add_subcommand(
      "config", "Print, or write, what makes a coding agent a client of the broker");
  command->add_option("--client", options->for_client, "Which coding agent")
      ->required()
      ->check(CLI::IsMember(mcp_client_names()));
  command->add_option("--agent", options->agent, "As whom it speaks")
      ->required()
      ->type_name("NAME");
  command->add_flag("--write", options->write, "Put it where the client reads it");
  command->add_option("--scope", options->scope, "For this directory, or all; project if not given")
      ->check(CLI::IsMember({"project", "user"}));
  command
      ->add_option("--transport", options->transport,
                   "stdio starts `parley mcp`; http goes to the broker. stdio if not given")
      ->check(CLI::IsMember({"stdio", "http"}));
  command->add_flag("--hooks", options->hooks,
                    "Also the hooks that hand the model its mail: `parley hook`");
  command->add_option("--name", options->name, "Of the entry; parley if not given");
  command->add_flag("--replace", options->replace, "Also replace another entry of that name");
  command->add_flag("--register", options->do_register,
                    "Register the agent first, as admin, and keep its token");
  command->add_option("--dialect", options->dialect, "Of a registered agent; inbox if not given")
      ->check(CLI::IsMember({"flow", "collab", "inbox", "superprompt", "squad"}));
  command->add_option("--role", options->role, "Of a registered agent; specialist in inbox");
  add_broker_options(*command, options->client);
  add_example(*command, "parley mcp config --client claude-code --agent bo --register --write");
  command->callback([=, &exit_code] { exit_code = config(*options); });
}

void add_check_command(CLI::App& mcp, int& exit_code, const std::shared_ptr<Options>& options) {
  CLI::App* command = mcp.add_subcommand(
      "check", "Send yourself a message through MCP, receive, read and settle it; show each state");
  command->add_option("--agent", options->agent, "As whom; else PARLEY_TOKEN says it")
      ->type_name("NAME");
  add_client_options(*command, options->client);
  add_example(*command, "parley mcp check --agent bo");
  command->callback(
      [=, &exit_code] { exit_code = run_mcp_check(options->agent, options->client); });
}

}  // namespace

void add_mcp(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* mcp = app.add_subcommand("mcp", "Connect coding agents by the Model Context Protocol");
  mcp->add_option("--agent", options->agent, "As whom; else PARLEY_TOKEN says it")
      ->type_name("NAME");
  add_broker_options(*mcp, options->client);
  add_config_command(*mcp, exit_code, options);
  add_check_command(*mcp, exit_code, options);
  add_example(*mcp, "parley mcp --agent bo    # as a client starts it: JSON-RPC, a line each");
  mcp->callback([=, &exit_code] {
    if (mcp->get_subcommands().empty()) {
      exit_code = run_mcp(options->agent, options->client);
    }
  });
}

}  // namespace parley::app
