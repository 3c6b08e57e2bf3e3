// SPDX-License-Identifier: Apache-2.0
#include "app/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "app/commands/commands.h"
#include "app/serve.h"
#include "app/terminal.h"
#include "base/nearest.h"

namespace parley::app {

namespace {

// One clear line, and where to read on.
std::string usage_failure(const CLI::App* app, const CLI::Error& error) {
  std::string path = app->get_name();
  for (const CLI::App* at = app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  return std::string("parley: ") + error.what() + "\nSee `" + path + " --help`.\n";
}

// CLI11 says of a wrong word only that another is missing. Empty when there is none.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (const std::string& word : arguments) {
    const auto known = at->get_subcommands([](const CLI::App*) { return true; });
    if (known.empty() || word.starts_with("-")) {
      return {};
    }
    std::vector<std::string_view> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* command : known) {
      names.push_back(command->get_name());
      next = command->get_name() == word ? command : next;
    }
    if (next == nullptr && !at->get_option_no_throw("ID")) {
      return "parley: there is no command \"" + path + " " + printable(word) +
             "\"; the nearest is \"" + path + " " + std::string(base::nearest(word, names)) +
             "\"\nSee `" + path + " --help`.\n";
    }
    if (next == nullptr) {
      return {};  // it takes a word of the user's beside commands
    }
    path += " " + word;
    at = next;
  }
  return {};
}

// Of a wrong command line. The clients that run `parley hook` take 2 for "block": they would refuse
// every prompt because of a flag. With 1 they show what is wrong and go on.
int usage_code(const std::vector<std::string>& arguments) {
  return !arguments.empty() && arguments.front() == "hook" ? 1 : 2;
}

// CLI11 takes [a,b] for two words. What stands behind -- is not ours to read, so it is marked.
void keep_verbatim(std::vector<std::string>& arguments) {
  const auto end = std::ranges::find(arguments, "--");
  for (auto word = end; word != arguments.end(); ++word) {
    if (word->starts_with('[') && !arguments.empty() && arguments.front() == "run") {
      word->insert(word->begin(), verbatim_mark);
    }
  }
}

void hide(char* secret) { std::memset(secret, '*', std::strlen(secret)); }

}  // namespace

int run(std::vector<std::string> arguments, const TestAccess* access) {
  CLI::App app(
      "Parley is a durable message broker for AI agents and the people who supervise them.",
      "parley");
  app.set_version_flag("--version", "parley " PARLEY_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.failure_message(usage_failure);
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  Command root(app);
  add_serve(root, exit_code, access);
  add_agent(root, exit_code);
  add_message(root, exit_code);
  add_wait(root, exit_code);
  add_run(root, exit_code);
  add_dead(root, exit_code);
  add_patterns(root, exit_code);
  add_thread(root, exit_code);
  add_session(root, exit_code);
  add_lock(root, exit_code);
  add_task(root, exit_code);
  add_trace(root, exit_code);
  add_mcp(root, exit_code);
  add_hook(root, exit_code);
  add_config(root, exit_code);
  add_journal(root, exit_code);
  add_doctor(root, exit_code);
  add_bench(root, exit_code);

  if (const std::string wrong = unknown_command(app, arguments); !wrong.empty()) {
    std::fputs(wrong.c_str(), stderr);
    return 2;
  }
  const int wrong_usage = usage_code(arguments);
  keep_verbatim(arguments);
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : wrong_usage;
  }
  // A token that was printed into a full disk is lost, and must not look like success.
  if (std::fflush(stdout) != 0) {
    return complain({{}, "standard output cannot be written", {}});
  }
  return exit_code;
}

std::vector<std::string> take_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (int i = 1; i < argc; ++i) {
    constexpr std::string_view flag = "--token";
    const std::string_view argument = argv[i];
    if (argument == flag && i + 1 < argc) {
      hide(argv[i + 1]);
    } else if (argument.starts_with("--token=")) {
      hide(argv[i] + flag.size() + 1);
    }
  }
  return arguments;
}

}  // namespace parley::app
