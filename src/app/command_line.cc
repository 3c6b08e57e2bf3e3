// SPDX-License-Identifier: Apache-2.0
#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "app/text/terminal.h"
#include "base/nearest.h"

namespace parley::app {

namespace {

// The message for a wrong command line: one clear line, and where to read on.
std::string usage_failure(const CLI::App* app, const CLI::Error& error) {
  std::string path = app->get_name();
  for (const CLI::App* at = app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  return std::string("parley: ") + error.what() + "\nSee `" + path + " --help`.\n";
}

}  // namespace

Option* Option::required() {
  option_.required();
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_.type_name(name);
  return this;
}

Option* Option::group(const std::string& heading) {
  option_.group(heading);
  return this;
}

Option* Option::one_of(const std::vector<std::string>& words) {
  option_.check(CLI::IsMember(words));
  return this;
}

Option* Option::in_range(int from, int to) {
  option_.check(CLI::Range(from, to));
  return this;
}

Option* Option::in_range(uint32_t from, uint32_t to) {
  option_.check(CLI::Range(from, to));
  return this;
}

Option* Option::in_range(double from, double to) {
  option_.check(CLI::Range(from, to));
  return this;
}

Option* Option::check(std::function<std::string(const std::string&)> wrong) {
  option_.check(std::move(wrong));
  return this;
}

Option* Option::takes_one() {
  option_.allow_extra_args(false);
  return this;
}

Option* Option::expected(int count) {
  option_.expected(count);
  return this;
}

Option* Option::excludes(Option* other) {
  option_.excludes(&other->option_);
  return this;
}

Command* Command::add_subcommand(const std::string& name, const std::string& help) {
  return &commands_.emplace_back(*app_.add_subcommand(name, help));
}

Command* Command::add_option_group(const std::string& heading, const std::string& help, size_t min,
                                   size_t max) {
  CLI::Option_group* const group = app_.add_option_group(heading, help);
  group->require_option(min, max);
  return &commands_.emplace_back(*group);
}

Option* Command::add_option(const std::string& name, std::string& value, const std::string& help) {
  return &options_.emplace_back(*app_.add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, std::vector<std::string>& value,
                            const std::string& help) {
  return &options_.emplace_back(*app_.add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, std::vector<uint32_t>& value,
                            const std::string& help) {
  return &options_.emplace_back(*app_.add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, uint64_t& value, const std::string& help) {
  return &options_.emplace_back(*app_.add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, double& value, const std::string& help) {
  return &options_.emplace_back(*app_.add_option(name, value, help));
}

Option* Command::add_flag(const std::string& name, bool& value, const std::string& help) {
  return &options_.emplace_back(*app_.add_flag(name, value, help));
}

void Command::require_subcommand(int count) { app_.require_subcommand(count); }

void Command::positionals_at_end() { app_.positionals_at_end(); }

void Command::footer(const std::string& text) { app_.footer(text); }

void Command::callback(std::function<void()> run) { app_.callback(std::move(run)); }

bool Command::ran_subcommand() const { return !app_.get_subcommands().empty(); }

CommandLine::CommandLine(const std::string& name, const std::string& description,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)), root_(*app_) {
  app_->set_version_flag("--version", version, "Print the version and exit");
  app_->require_subcommand(1);
  app_->failure_message(usage_failure);
  app_->get_formatter()->column_width(34);
}

CommandLine::~CommandLine() = default;

std::string CommandLine::unknown_command(const std::vector<std::string>& arguments) const {
  const CLI::App* at = app_.get();
  std::string path = app_->get_name();
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
      return {};  // the group takes an id of the user's beside its commands
    }
    path += " " + word;
    at = next;
  }
  return {};
}

CommandLine::Parsed CommandLine::parse(std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? Parsed::printed : Parsed::wrong;
  }
  return Parsed::ran;
}

void miss_argument(const std::string& name) { throw CLI::RequiredError(name); }

}  // namespace parley::app
