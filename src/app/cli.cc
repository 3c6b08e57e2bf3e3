// SPDX-License-Identifier: Apache-2.0
#include "app/cli.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

// The exit code for a wrong command line. The clients that run `parley hook` take 2 for "block":
// they would refuse every prompt because of a wrong flag. With 1 they show what is wrong and go on.
int usage_code(const std::vector<std::string>& arguments) {
  return !arguments.empty() && arguments.front() == "hook" ? 1 : 2;
}

// Marks the words of the command that `parley run` starts, because CLI11 would read [a,b] as two
// words. commands/run.cc takes the mark off again.
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
  CommandLine command_line(
      "parley",
      "Parley is a durable message broker for AI agents and the people who supervise them.",
      "parley " PARLEY_VERSION);
  int exit_code = 0;
  Command& root = command_line.root();
  add_serve(root, exit_code, access);
  for (const auto add : subcommands) {
    add(root, exit_code);
  }

  if (const std::string wrong = command_line.unknown_command(arguments); !wrong.empty()) {
    std::fputs(wrong.c_str(), stderr);
    return 2;
  }
  const int wrong_usage = usage_code(arguments);
  keep_verbatim(arguments);
  switch (command_line.parse(std::move(arguments))) {
    case CommandLine::Parsed::ran:
      break;
    case CommandLine::Parsed::printed:
      return 0;
    case CommandLine::Parsed::wrong:
      return wrong_usage;
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
