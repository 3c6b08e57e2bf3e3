// SPDX-License-Identifier: Apache-2.0
#include "app/route_command.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "app/client/client.h"
#include "app/options.h"
#include "base/check.h"
#include "base/time.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using Kind = Argument::Kind;

// What the options set. Shared by the closures of one tree of rows, because CLI11 copies them.
struct Value {
  std::string text;
  std::vector<std::string> texts;
  uint64_t number = 0;
  bool is_set = false;  // of a flag
};
struct Values {
  ClientOptions client;
  std::map<std::string, Value> given;  // by the name of the argument
};

const Argument& argument_of(const RouteCommand& row, std::string_view name) {
  const auto found = std::ranges::find(row.arguments, name, &Argument::name);
  CHECK(found != row.arguments.end());
  return *found;
}

// What was given for the argument, as text; empty where that is nothing.
std::string given_text(const Argument& argument, const Value& value) {
  switch (argument.kind) {
    case Kind::text:
    case Kind::duration:
    case Kind::wait:
      return value.text.empty() ? argument.value : value.text;
    case Kind::repeated:
    case Kind::several:
      return value.texts.empty() ? argument.value : value.texts.front();
    case Kind::number:
      return value.number == 0 ? argument.value : std::to_string(value.number);
    case Kind::flag:
      return value.is_set ? argument.value : "";
  }
  return "";
}

void add_argument(Command& command, const Argument& argument, Value& value) {
  Option* option = nullptr;
  switch (argument.kind) {
    case Kind::text:
      option = command.add_option(argument.name, value.text, argument.help);
      break;
    case Kind::duration:
    case Kind::wait:
      option = command.add_option(argument.name, value.text, argument.help);
      takes_duration(*option);
      break;
    case Kind::repeated:
      option = command.add_option(argument.name, value.texts, argument.help)->takes_one();
      break;
    case Kind::several:
      option = command.add_option(argument.name, value.texts, argument.help);
      break;
    case Kind::number:
      value.number = argument.number;
      option = command.add_option(argument.name, value.number, argument.help);
      break;
    case Kind::flag:
      command.add_flag(argument.name, value.is_set, argument.help);
      return;
  }
  if (argument.required) {
    option->required();
  }
  if (!argument.type.empty()) {
    option->type_name(argument.type);
  }
  if (!argument.words.empty()) {
    option->one_of(argument.words);
  }
  if (argument.number_max != 0) {
    option->in_range(1, argument.number_max);
  }
  if (argument.texts_max != 0) {
    option->expected(argument.texts_max);
  }
}

// The call without what stands for what the user gave.
struct Route {
  std::string_view method;
  std::string_view path;
  std::string_view query;
};

Route route_of(const RouteCommand& row) {
  const std::string_view call = row.call;
  const size_t space = call.find(' ');
  const size_t mark = std::min(call.find('?'), call.size());
  CHECK(space < mark);
  return {call.substr(0, space), call.substr(space + 1, mark - space - 1),
          call.substr(std::min(mark + 1, call.size()))};
}

std::string target_of(const RouteCommand& row, const Given& given) {
  const auto value_of = [&](std::string_view name) {
    return encoded(given.at(argument_of(row, name).name));
  };
  const auto needed = [&](std::string_view name) {
    const Argument& argument = argument_of(row, name);
    if (!argument.required && given.at(argument.name).empty()) {
      miss_argument(argument.name);
    }
    return value_of(name);
  };
  const Route route = route_of(row);
  std::string target = filled(route.path, needed);
  char before = '?';
  for (std::string_view rest = route.query; !rest.empty();) {
    const std::string_view parameter = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(parameter.size() + 1, rest.size()));
    const std::string text = filled(parameter, value_of);
    if (!text.ends_with('=')) {
      target += before + text;
      before = '&';
    }
  }
  return target;
}

void write_member(lib::JsonWriter& out, const RouteCommand& row, const BodyMember& member,
                  const Values& values) {
  if (!member.value.starts_with('{')) {
    out.key(member.key).text(member.value);
    return;
  }
  const Argument& argument =
      argument_of(row, std::string_view(member.value).substr(1, member.value.size() - 2));
  const Value& value = values.given.at(argument.name);
  const std::string text = given_text(argument, value);
  if (text.empty() && value.texts.empty() && !argument.required) {
    return;
  }
  switch (argument.kind) {
    case Kind::text:
    case Kind::duration:
    case Kind::wait:
      out.key(member.key).text(text);
      return;
    case Kind::repeated:
    case Kind::several:
      write_names(out, member.key, value.texts);
      return;
    case Kind::number:
    case Kind::flag:
      out.key(member.key).raw(text);
      return;
  }
}

std::string body_of(const RouteCommand& row, const Values& values) {
  std::string body;
  if (row.body) {
    lib::JsonWriter out(body);
    out.object();
    for (const BodyMember& member : *row.body) {
      write_member(out, row, member, values);
    }
    out.end_object();
  }
  return body;
}

int run(const RouteCommand& row, const Values& values) {
  Given given;
  for (const Argument& argument : row.arguments) {
    given[argument.name] = given_text(argument, values.given.at(argument.name));
  }
  HttpCall call{std::string(route_of(row).method), target_of(row, given), body_of(row, values), {}};
  for (const auto& [name, value] : row.headers) {
    call.headers.emplace_back(name, filled(value, [&](std::string_view argument) {
                                return given.at(argument_of(row, argument).name);
                              }));
  }
  for (const Argument& argument : row.arguments) {
    if (argument.kind == Kind::wait) {
      const auto wait = base::parse_duration(given.at(argument.name));
      call.patience.us += wait.value_or(base::Duration{}).us;
    }
  }
  return ask_and_show(values.client, call,
                      [&](lib::Json answer) { return row.show(answer, given); });
}

// A name in braces that is no argument is a mistake in the row, which every run of the program
// finds, whatever the command.
void check_names(const RouteCommand& row) {
  const auto known = [&](std::string_view name) { return argument_of(row, name).name; };
  filled(row.call, known);
  for (const auto& [name, value] : row.headers) {
    filled(value, known);
  }
  for (const BodyMember& member : row.body.value_or(Body{})) {
    filled(member.value, known);
  }
}

Command* add(Command& parent, int& exit_code, const RouteCommand& row,
             const std::shared_ptr<Values>& values) {
  Command* command = parent.add_subcommand(row.name, row.help);
  if (row.call.empty()) {
    command->require_subcommand(1);
  } else {
    CHECK(row.show);
    check_names(row);
    for (const Argument& argument : row.arguments) {
      add_argument(*command, argument, values->given[argument.name]);
    }
    add_client_options(*command, values->client);
    add_example(*command, row.example);
    const auto kept = std::make_shared<const RouteCommand>(row);
    command->callback([command, kept, values, &exit_code] {
      if (!command->ran_subcommand()) {
        exit_code = run(*kept, *values);
      }
    });
  }
  for (const RouteCommand& subcommand : row.subcommands) {
    add(*command, exit_code, subcommand, values);
  }
  return command;
}

}  // namespace

Argument required(std::string name, std::string help) {
  return {.name = std::move(name), .help = std::move(help), .required = true};
}

std::vector<std::string> words_of(std::span<const std::string_view> words) {
  return {words.begin(), words.end()};
}

Argument limit_of(int max) {
  return {.name = "--limit",
          .help = "At most so many; 100 if not given",
          .kind = Kind::number,
          .number = 100,
          .number_max = max};
}

Command* add_route_command(Command& parent, int& exit_code, const RouteCommand& row) {
  return add(parent, exit_code, row, std::make_shared<Values>());
}

}  // namespace parley::app
