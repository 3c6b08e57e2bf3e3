// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/client/agent_token.h"
#include "app/files.h"
#include "app/commands/commands.h"
#include "app/mcp/check.h"
#include "app/mcp/clients.h"
#include "app/mcp/relay.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "core/model/policy.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;
using Change = Settings::Change;

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

// How a client that is started from anywhere finds this program: `parley` where every PATH leads to
// it, else by its path, as the shell found it, or as the system has it.
std::string own_command() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  const std::string path = variable("PATH");
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path directory = rest.substr(0, end);
    const fs::path found = directory / "parley";
    if (fs::exists(found, failed)) {
      const bool is_common =
          directory == "/usr/local/bin" || directory == "/usr/bin" || directory == "/bin";
      const bool is_self = fs::equivalent(found, self, failed);
      return !is_self ? self.string() : is_common ? "parley" : fs::absolute(found).string();
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return self.string();
}

// Which broker, and where the token is, for what a client starts: with a few variables only, so
// that ours become arguments.
std::expected<std::vector<std::string>, Failure> broker_arguments(const Options& options) {
  std::vector<std::string> arguments;
  const auto given = [](const std::string& flag, const char* name) {
    return flag.empty() ? variable(name) : flag;
  };
  const auto pass_on = [&](const char* flag, const std::string& value) {
    if (!value.empty()) {
      arguments.insert(arguments.end(), {flag, value});
    }
  };
  const auto absolute = [](const std::string& path) {
    return path.empty() ? path : fs::absolute(path).string();
  };
  const std::string url = given(options.client.url, "PARLEY_URL");
  const size_t host = url.find("://");
  if (host != url.npos && url.substr(0, url.find('/', host + 3)).find('@') != url.npos) {
    return std::unexpected(Failure{"BAD_REQUEST", "the URL has a password in it",
                                   "Leave it out: a token says who speaks, and settings are "
                                   "files that others may read."});
  }
  pass_on("--url", url);
  pass_on("--ca", absolute(given(options.client.ca, "PARLEY_CA")));
  std::string data = given(options.client.data, "PARLEY_DATA");
  if (data.empty() && url.empty() && variable("XDG_STATE_HOME").starts_with('/')) {
    data = data_directory({}, environment()).value_or("");
  }
  pass_on("--data", absolute(data));
  if (variable("XDG_CONFIG_HOME").starts_with('/')) {
    const auto path = agent_token_path(options.agent);
    if (!path) {
      return std::unexpected(path.error());
    }
    pass_on("--token", "@" + *path);
  }
  return arguments;
}

std::expected<McpEntry, Failure> entry_of(const Options& options) {
  McpEntry entry{.name = options.name, .is_http = options.transport == "http"};
  auto arguments = broker_arguments(options);
  if (!arguments) {
    return std::unexpected(arguments.error());
  }
  if (entry.is_http) {
    const auto url = find_broker_url(options.client);
    if (!url) {
      return std::unexpected(url.error());
    }
    entry.url = *url + "/mcp";
    return entry;
  }
  entry.command = own_command();
  entry.arguments = {"mcp", "--agent", options.agent};
  for (std::string& argument : *arguments) {
    entry.arguments.push_back(std::move(argument));
  }
  return entry;
}

std::expected<std::string, Failure> hook_line(const Options& options) {
  const auto arguments = broker_arguments(options);
  if (!arguments) {
    return std::unexpected(arguments.error());
  }
  std::string line = shell_word(own_command()) + " hook --agent " + shell_word(options.agent);
  for (const std::string& argument : *arguments) {
    line += " " + shell_word(argument);
  }
  return line;
}

// Whether the broker takes the token that is kept for the agent.
std::expected<void, Failure> check_kept(const Options& options) {
  ClientOptions client = options.client;
  client.token.clear();
  const auto address = find_broker_as(options.agent, client);
  const auto reply = address ? exchange(*address, {"GET", "/v1/agents/" + encoded(options.agent)})
                             : std::unexpected(address.error());
  if (!reply) {
    return std::unexpected(reply.error());
  }
  if (reply->status == 401 || reply->status == 404) {
    return std::unexpected(stale_token(options.agent, address->url));
  }
  return reply->status == 200 ? std::expected<void, Failure>() : std::unexpected(refusal(*reply));
}

// A token, for one who is not registered yet: who is would be changed by it, and told none.
std::expected<std::string, Failure> new_token(const Options& options) {
  const std::string place = "/v1/agents/" + encoded(options.agent);
  const auto known = ask(options.client, {"GET", place});
  if (known) {
    const std::string agent = shell_word(options.agent);
    return std::unexpected(Failure{
        "CONFLICT", options.agent + " is registered already, and its token is told only once",
        "Keep the token you have with `parley agent keep " + agent +
            "`, take another name, or "
            "`parley agent remove " +
            agent + "` and register it anew."});
  }
  if (known.error().code != "NOT_FOUND") {
    return std::unexpected(known.error());
  }
  std::string body;
  lib::JsonWriter writer(body);
  writer.object().key("id").text(options.agent).key("dialect").text(options.dialect);
  const auto dialect = core::find_dialect(options.dialect);
  if (!options.role.empty() || (dialect && core::policy_of(*dialect).has_task_roles)) {
    writer.key("role").text(options.role.empty() ? "specialist" : options.role);
  }
  writer.end_object();
  const auto reply = ask(options.client, {"POST", "/v1/agents", body, {}});
  if (!reply) {
    return std::unexpected(reply.error());
  }
  lib::JsonDocument document;
  const auto answer = document.parse(reply->body);
  std::string token = answer ? text_of(*answer, "token") : "";
  if (token.empty()) {
    return std::unexpected(Failure{"BAD_ANSWER", "the broker gave no token", {}});
  }
  return token;
}

// Makes the agent, as admin, unless its token is at hand already.
std::expected<void, Failure> register_agent(const Options& options) {
  const auto path = agent_token_path(options.agent);
  std::error_code none;
  if (path && fs::exists(*path, none)) {
    return check_kept(options);
  }
  const auto place = path ? ready_token_place(options.agent) : path;
  if (!place) {
    return std::unexpected(place.error());
  }
  const auto token = new_token(options);
  if (!token) {
    return std::unexpected(token.error());
  }
  if (const auto kept = store_agent_token(options.agent, *token); !kept) {
    // Nobody has its token, so that nobody could be it.
    (void)ask(options.client, {"DELETE", "/v1/agents/" + encoded(options.agent)});
    return std::unexpected(kept.error());
  }
  std::fprintf(stderr, "%s is registered; its token is in %s\n", printable(options.agent).c_str(),
               path->c_str());
  return {};
}

// One file of the client's, and what is put into it.
struct Plan {
  std::string path;
  std::string before;
  std::string text;
  std::vector<std::pair<std::string, Change>> changes;
};

// Adds to the plans what `add` adds to the text of the file at `path`. Without --write the file is
// not looked at: what is printed is what belongs into it.
template <class Add>
std::expected<void, Failure> put_into(const Options& options, std::vector<Plan>& plans,
                                      const std::expected<std::string, Failure>& path,
                                      const std::string& what, const Add& add) {
  if (!path) {
    return std::unexpected(path.error());
  }
  auto plan = std::ranges::find(plans, *path, &Plan::path);
  if (plan == plans.end()) {
    const auto text = options.write ? read_settings(*path) : std::string();
    if (!text) {
      return std::unexpected(text.error());
    }
    plan = plans.insert(plans.end(), Plan{*path, *text, *text, {}});
  }
  const std::expected<Settings, base::Error> edit = add(plan->text);
  if (!edit) {
    return std::unexpected(Failure{"BAD_REQUEST",
                                   "cannot add to " + *path + ": " + edit.error().detail,
                                   "Leave out --write and add it by hand."});
  }
  if (edit->change == Change::refused && !edit->instead.empty()) {
    return std::unexpected(Failure{"CONFLICT", *path + " has the hook `" + edit->instead + "`",
                                   "--replace replaces it; without --hooks it stays."});
  }
  if (edit->change == Change::refused) {
    return std::unexpected(Failure{"CONFLICT", *path + " has another entry " + what,
                                   "--replace replaces it; --name NAME adds one beside it."});
  }
  plan->text = edit->text;
  plan->changes.emplace_back(what, edit->change);
  return {};
}

// What is to be written, before anything is: nothing is done by halves.
std::expected<std::vector<Plan>, Failure> plans_of(const Options& options, McpClient client,
                                                   Scope scope, const McpEntry& entry) {
  std::vector<Plan> plans;
  auto put = put_into(
      options, plans, settings_path(client, scope), printable(options.name),
      [&](const std::string& text) { return with_entry(client, text, entry, options.replace); });
  const auto line = options.hooks ? hook_line(options) : std::string();
  if (put && !line) {
    return std::unexpected(line.error());
  }
  if (put && options.hooks) {
    put = put_into(
        options, plans, hooks_path(client, scope), "hooks",
        [&](const std::string& text) { return with_hooks(client, text, *line, options.replace); });
  }
  if (!put) {
    return std::unexpected(put.error());
  }
  return plans;
}

// Prints the text, or writes it if that is asked for and changes anything.
std::expected<void, Failure> carry_out(const Options& options, const Plan& plan) {
  if (!options.write) {
    std::printf("%s", plan.text.c_str());
    std::fflush(stdout);
    std::fprintf(stderr, "This belongs into %s; --write puts it there.\n", plan.path.c_str());
    return {};
  }
  struct stat info{};
  const unsigned mode = ::stat(plan.path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0644;
  if (plan.text != plan.before) {
    if (auto done = replace_file(plan.path, plan.text, mode, plan.before); !done) {
      return done;
    }
  }
  for (const auto& [what, change] : plan.changes) {
    if (change == Change::none) {
      std::printf("%s has %s already\n", plan.path.c_str(), what.c_str());
    } else {
      std::printf("%s %s in %s\n", change == Change::added ? "added" : "replaced", what.c_str(),
                  plan.path.c_str());
    }
  }
  // Who shares it shares the name, and others have no token for it.
  if (git_would_commit(plan.path).value_or(false)) {
    std::fprintf(stderr,
                 "%s now has the name of your agent, and git would commit it: leave it out of "
                 "what you share, or use --scope user.\n",
                 plan.path.c_str());
  }
  return {};
}

// Mail would come twice, or another agent's.
void tell_of_other_hooks(const Options& options, McpClient client, Scope scope) {
  const auto line = hook_line(options);
  for (const std::string& path : other_hooks_paths(client, scope)) {
    const auto text = read_settings(path);
    const auto edit = text && line && !text->empty() ? with_hooks(client, *text, *line, false)
                                                     : std::unexpected(base::Error{});
    if (edit && (edit->change == Change::none || edit->change == Change::refused)) {
      std::fprintf(stderr, "%s has hooks of Parley's too, and both run: remove one of them.\n",
                   path.c_str());
    }
  }
}

void tell_what_is_left(const Options& options, McpClient client, Scope scope,
                       const McpEntry& entry) {
  if (options.hooks) {
    tell_of_other_hooks(options, client, scope);
  }
  for (const std::string& line : what_is_left(client, scope, entry, options.hooks)) {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  const auto path = agent_token_path(options.agent);
  std::error_code none;
  const bool needs_token = !entry.is_http || options.hooks;
  if (needs_token && path && !fs::exists(*path, none)) {
    const std::string agent = printable(shell_word(options.agent));
    std::fprintf(stderr,
                 "There is no token of %s in %s yet: register it with --register, or\n"
                 "  parley agent add %s --dialect inbox --role specialist | parley agent keep %s\n",
                 printable(options.agent).c_str(), path->c_str(), agent.c_str(), agent.c_str());
  }
}

int config(const Options& options) {
  const auto client = mcp_client_named(options.for_client);
  if (!client) {
    return complain(client.error());
  }
  const Scope scope = options.scope == "user" ? Scope::user : Scope::project;
  const auto entry = entry_of(options);
  if (!entry) {
    return complain(entry.error());
  }
  const auto plans = plans_of(options, *client, scope, *entry);
  if (!plans) {
    return complain(plans.error());
  }
  if (options.do_register) {
    if (const auto done = register_agent(options); !done) {
      return complain(done.error());
    }
  }
  for (const Plan& plan : *plans) {
    if (const auto done = carry_out(options, plan); !done) {
      return complain(done.error());
    }
  }
  tell_what_is_left(options, *client, scope, *entry);
  return 0;
}

void add_config_command(Command& mcp, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* command = mcp.add_subcommand(
      "config", "Print, or write, what makes a coding agent a client of the broker");
  command->add_option("--client", options->for_client, "Which coding agent")
      ->required()
      ->one_of(mcp_client_names());
  takes_text(*command->add_option("--agent", options->agent, "As whom it speaks")
                  ->required()
                  ->type_name("NAME"));
  command->add_flag("--write", options->write, "Put it where the client reads it");
  command->add_option("--scope", options->scope, "For this directory, or all; project if not given")
      ->one_of({"project", "user"});
  command
      ->add_option("--transport", options->transport,
                   "stdio starts `parley mcp`; http goes to the broker. stdio if not given")
      ->one_of({"stdio", "http"});
  command->add_flag("--hooks", options->hooks,
                    "Also the hooks that hand the model its mail: `parley hook`");
  takes_text(*command->add_option("--name", options->name, "Of the entry; parley if not given"));
  command->add_flag("--replace", options->replace,
                    "Also replace another entry of that name, and other hooks of Parley's");
  command->add_flag("--register", options->do_register,
                    "Register the agent first, as admin, and keep its token");
  command->add_option("--dialect", options->dialect, "Of a registered agent; inbox if not given")
      ->one_of(core::dialect_list());
  command->add_option("--role", options->role, "Of a registered agent; specialist in inbox");
  add_broker_options(*command, options->client);
  add_example(*command, "parley mcp config --client claude-code --agent bo --register --write");
  command->callback([=, &exit_code] { exit_code = config(*options); });
}

void add_check_command(Command& mcp, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* command = mcp.add_subcommand(
      "check", "Send yourself a message through MCP, receive, read and settle it; show each state");
  takes_text(*command->add_option("--agent", options->agent, "As whom; else PARLEY_TOKEN says it")
                  ->type_name("NAME"));
  add_client_options(*command, options->client, Speaker::agent);
  add_example(*command, "parley mcp check --agent bo");
  command->callback(
      [=, &exit_code] { exit_code = run_mcp_check(options->agent, options->client); });
}

}  // namespace

void add_mcp(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* mcp = app.add_subcommand("mcp", "Connect coding agents by the Model Context Protocol");
  takes_text(*mcp->add_option("--agent", options->agent, "As whom; else PARLEY_TOKEN says it")
                  ->type_name("NAME"));
  add_broker_options(*mcp, options->client, Speaker::agent);
  add_config_command(*mcp, exit_code, options);
  add_check_command(*mcp, exit_code, options);
  add_example(*mcp, "parley mcp --agent bo    # as a client starts it: JSON-RPC, a line each");
  mcp->callback([=, &exit_code] {
    if (!mcp->ran_subcommand()) {
      exit_code = run_mcp(options->agent, options->client);
    }
  });
}

}  // namespace parley::app
