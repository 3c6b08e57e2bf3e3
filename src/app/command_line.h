// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace parley::app {

// A wall around CLI11: each file that includes it takes ten seconds longer to compile. The words
// are CLI11's.

// An option, a flag or an argument of a command, which owns it.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option* required();
  Option* type_name(const std::string& name);  // for the help: `NAME` of `--agent NAME`
  Option* group(const std::string& heading);   // under which the help has it
  // What it takes: one of these words, a number between these, or that of which `wrong` says
  // nothing.
  Option* one_of(const std::vector<std::string>& words);
  Option* in_range(int from, int to);
  Option* in_range(uint32_t from, uint32_t to);
  Option* in_range(double from, double to);
  Option* check(std::function<std::string(const std::string&)> wrong);
  // One word each time that it is given; without, a list takes all that follow.
  Option* takes_one();
  Option* expected(int count);
  Option* excludes(Option* other);

 private:
  CLI::Option& option_;
};

// A command, or a group of them or of options. What it sets must live until it has run.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(const std::string& name, const std::string& help);
  // Options under a heading of their own, of which from `min` to `max` must be given.
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
  void footer(const std::string& text);  // the end of the help, instead of the group's

  // Called when the command was given, after all of its options were read.
  void callback(std::function<void()> run);
  // For that callback: a command of the group was given, and has run.
  bool ran_subcommand() const;

 private:
  CLI::App& app_;
  std::deque<Command> commands_;
  std::deque<Option> options_;
};

// For a callback that misses an argument which only it knows to be needed.
[[noreturn]] void miss_argument(const std::string& name);

}  // namespace parley::app
