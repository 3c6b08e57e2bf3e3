// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "app/text/answers.h"

namespace parley::app {

// A subcommand that calls one route of the broker and prints the answer, as a row of values. What
// does more than that adds its options to a Command by itself.

// An argument (`ID`), an option or a flag (`--limit`) of a subcommand. Where the user gives
// nothing, or an optional text that is empty, what has it is left out of the request.
struct Argument {
  enum class Kind : uint8_t {
    text,
    repeated,  // texts; each use takes one word
    several,   // texts; takes all words that follow
    number,    // 0 counts as nothing
    duration,  // such as `30s`
    wait,      // a duration for which the broker waits, and so does the program
    flag,      // stands for `value`
  };

  std::string name;
  std::string help;
  Kind kind = Kind::text;
  bool required = false;
  std::string type{};                // for the help: `N` of `--fence N`
  std::vector<std::string> words{};  // the only texts that it takes; empty: any
  std::string value{};               // of a flag that is given; of others, what stands for nothing
  uint64_t number = 0;               // what a number is if it is not given
  int number_max = 0;                // it is from 1 to this; 0: any
  int texts_max = 0;                 // of several texts: so many at most; 0: any
};

Argument required(std::string name, std::string help);
// The words of an argument.
std::vector<std::string> words_of(std::span<const std::string_view> words);
// --limit, from 1 to `max`; 100 if it is not given.
Argument limit_of(int max);

// A member of the body. Its value is a text, or `{NAME}` for an argument: an array where that takes
// several texts, and the JSON that a flag stands for.
struct BodyMember {
  std::string key;
  std::string value;
};
using Body = std::vector<BodyMember>;

struct RouteCommand {
  std::string name;
  std::string help;
  std::string example{};
  std::vector<Argument> arguments{};
  // `GET /v1/tasks/{ID}?thread={--thread}`: {NAME} is what was given for an argument of the row. A
  // parameter of the query whose value is empty is left out. No call: the row is only a group.
  std::string call{};
  std::vector<std::pair<std::string, std::string>> headers{};  // with {NAME} in their values
  std::optional<Body> body{};  // none: a request without a body; no members: `{}`
  Show show{};
  std::vector<RouteCommand> subcommands{};
};

// Adds the row and its subcommands, with the options that name the broker. Rows of one tree that
// have an argument of the same name share it: what is given to the group counts for its subcommand.
// An argument in the path that is not required is needed if no subcommand is given. Returns the
// command, for subcommands that are no rows.
Command* add_route_command(Command& parent, int& exit_code, const RouteCommand& row);

}  // namespace parley::app
