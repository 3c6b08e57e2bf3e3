// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/diagnosis.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using Status = Finding::Status;

// Shared with the closure, because CLI11 copies it.
struct Options {
  ConfigFlags flags;
  ClientOptions client;
};

std::string_view name_of(Status status) {
  constexpr std::array<std::string_view, 3> names = {"ok", "warn", "fail"};
  return names[static_cast<size_t>(status)];
}

Colour colour_of(Status status) {
  constexpr std::array<Colour, 3> colours = {Colour::green, Colour::yellow, Colour::red};
  return colours[static_cast<size_t>(status)];
}

void print(const std::vector<Finding>& findings, bool colours) {
  for (const Finding& finding : findings) {
    std::string status(name_of(finding.status));
    status.resize(4, ' ');
    std::string check = finding.check;
    check.resize(std::max<size_t>(check.size(), 7), ' ');
    const std::string advice =
        finding.status == Status::ok || finding.advice.empty() ? "" : ". " + finding.advice;
    std::printf("%s  %s  %s%s\n", coloured(status, colour_of(finding.status), colours).c_str(),
                check.c_str(), printable(finding.detail).c_str(), printable(advice).c_str());
  }
}

std::string as_json(const std::vector<Finding>& findings, bool good) {
  std::string text;
  lib::JsonWriter writer(text);
  writer.object().key("ok").boolean(good).key("checks").array();
  for (const Finding& finding : findings) {
    writer.object().key("check").text(finding.check).key("status").text(name_of(finding.status));
    writer.key("detail").text(finding.detail).key("advice").text(finding.advice).end_object();
  }
  writer.end_array().end_object();
  return text;
}

int diagnose(const Options& options) {
  base::SystemClock clock;
  ClientOptions client = options.client;
  client.data = options.flags.data;
  const auto findings = examine(options.flags.sources(), client, clock.now());
  const bool good = std::ranges::none_of(
      findings, [](const Finding& finding) { return finding.status == Status::fail; });
  if (client.json) {
    print_json(as_json(findings, good));
  } else {
    print(findings, wants_colours());
  }
  return good ? 0 : 1;
}

}  // namespace

void add_doctor(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* command =
      app.add_subcommand("doctor", "Find out what is wrong, and what to do about it");
  options->flags.add_to(*command);
  command->add_option("--url", options->client.url, "A broker to look at")->type_name("URL");
  command->add_option("--token", options->client.token, "Your token for it, or @FILE")
      ->type_name("TOKEN");
  command->add_option("--ca", options->client.ca, "PEM file of certificates to trust")
      ->type_name("FILE");
  command->add_flag("--json", options->client.json, "Print JSON");
  add_example(*command, "parley doctor --data DIR");
  command->callback([=, &exit_code] { exit_code = diagnose(*options); });
}

}  // namespace parley::app
