// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace parley::app {

// A wall around CLI11: each source that includes it takes ten seconds longer to compile. The names
// are those of CLI11.

// An option, a flag or an argument of a command, which owns it.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option* required();
  Option* type_name(const std::string& name);  // for the help: `NAME` of `--agent NAME`
  Option* group(const std::string& heading);   // the heading of the help under which it stands
  // These limit the values: to one of the words, to a number in the range, or to those for which
  // `wrong` returns an empty text. Its text is the message for the user.
  Option* one_of(const std::vector<std::string>& words);
  Option* in_range(int from, int to);
  Option* in_range(uint32_t from, uint32_t to);
  Option* in_range(double from, double to);
  Option* check(std::function<std::string(const std::string&)> wrong);
  // Each use of the option takes one word. Without this, a list takes all words that follow.
  Option* takes_one();
  Option* expected(int count);
  Option* excludes(Option* other);

 private:
  CLI::Option& option_;
};

// A command, or a group of commands or of options. The variables that its options set must live
// until the command has run.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(const std::string& name, const std::string& help);
  // A group of options under a heading of its own. The user must give from `min` to `max` of them.
  Command* add_option_group(const std::string& heading, const std::string& help, size_t min,
                            size_t max);

  Option* add_option(const std::string& name, std::string& value, const std::string& help);
  Option* add_option(const std::string& name, std::vector<std::string>& value,
                     const std::string& help);
  Option* add_option(const std::string& name, std::vector<uint32_t>& value,
                     const std::string& help);
  Option* add_option(const std::string& name, uint64_t& value, const std::string& help);
  Option* add_option(const std::string& name, double& value, const std::string& help);
  Option* add_flag(const std::string& name, bool& value, const std::string& help);

  void require_subcommand(int count);
  void positionals_at_end();
  void footer(const std::string& text);  // ends the help, instead of the group's footer

  // `run` is called if the user gave the command, after all of its options were read.
  void callback(std::function<void()> run);
  // For the callback of a group: true when a command of the group has run.
  bool ran_subcommand() const;

 private:
  CLI::App& app_;
  std::deque<Command> commands_;
  std::deque<Option> options_;
};

// The command line of a program: its commands, and the reading of its arguments.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Where the subcommands are added.
  Command& root() { return root_; }

  // The message for a command that does not exist, which CLI11 does not name: it says only that a
  // command is missing. Empty when all commands exist.
  std::string unknown_command(const std::vector<std::string>& arguments) const;

  enum class Parsed : uint8_t {
    ran,      // the command was given, and has run
    printed,  // the help or the version was asked for, and is printed
    wrong,    // the arguments do not fit; standard error says why
  };
  Parsed parse(std::vector<std::string> arguments);

 private:
  std::unique_ptr<CLI::App> app_;
  Command root_;
};

// Ends the program with the message for a missing argument. For a callback, where an argument is
// needed only together with others.
[[noreturn]] void miss_argument(const std::string& name);

}  // namespace parley::app
