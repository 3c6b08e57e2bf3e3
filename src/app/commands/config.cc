// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <memory>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/config.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;

// Shared with the closure, because CLI11 copies it.
struct Options {
  ConfigFlags flags;
  ClientOptions client;
};

struct Shown {
  KeyInfo key;
  std::string value;
  std::string origin;
};

std::vector<Shown> from_files(const Config& config) {
  std::vector<Shown> all;
  for (const KeyInfo& key : all_keys()) {
    const auto origin = config.origins.find(key.name);
    all.push_back({key, value_of(config, key.name),
                   origin == config.origins.end() ? "default" : origin->second});
  }
  return all;
}

// The rules that a running broker goes by: what was set before, by whom ever, counts there.
std::map<std::string, std::string> effective_rules(const ClientOptions& client) {
  std::map<std::string, std::string> rules;
  const auto reply = ask(client, {"GET", "/v1/rules"});
  if (!reply) {
    std::fprintf(stderr, "parley: the broker did not tell its rules: %s\n",
                 printable(reply.error().detail).c_str());
    return rules;
  }
  lib::JsonDocument document;
  const auto answer = document.parse(reply->body);
  const Json list = answer && answer->is_object() ? answer->find("rules") : Json();
  for (const Json rule : list ? list.elements() : Json::Elements()) {
    rules[text_of(rule, "name")] = text_of(rule, "value");
  }
  return rules;
}

bool has_broker(const ClientOptions& client, const Config& config) {
  const auto local = local_broker(config.data);
  return !client.url.empty() || std::getenv("PARLEY_URL") != nullptr || (local && local->alive);
}

std::string as_json(const std::vector<Shown>& all) {
  std::string text;
  lib::JsonWriter writer(text);
  writer.object().key("keys").array();
  for (const Shown& shown : all) {
    writer.object().key("name").text(shown.key.name).key("value").text(shown.value);
    writer.key("default").text(shown.key.default_value).key("type").text(shown.key.type);
    writer.key("origin").text(shown.origin).key("help").text(shown.key.help).end_object();
  }
  writer.end_array().end_object();
  return text;
}

int show(const Options& options) {
  const auto config = load_config(options.flags.sources());
  if (!config) {
    return complain(failure_of(config.error()));
  }
  std::vector<Shown> all = from_files(*config);
  ClientOptions client = options.client;
  client.data = config->data;
  if (has_broker(client, *config)) {
    const auto rules = effective_rules(client);
    for (Shown& shown : all) {
      const auto rule = rules.find(shown.key.name);
      if (rule != rules.end() && rule->second != shown.value) {
        shown.value = rule->second;
        shown.origin = "broker";
      }
    }
  }
  if (client.json) {
    print_json(as_json(all));
    return 0;
  }
  Table table({"KEY", "VALUE", "DEFAULT", "FROM", "WHAT"});
  for (const Shown& shown : all) {
    const bool changed = shown.origin != "default";
    table.add({{shown.key.name, changed ? Colour::bold : Colour::plain},
               {shown.value, changed ? Colour::green : Colour::plain},
               {shown.key.default_value, Colour::dim},
               {shown.origin, changed ? Colour::plain : Colour::dim},
               {shown.key.help}});
  }
  std::printf("%s", table.render(wants_colours()).c_str());
  return 0;
}

}  // namespace

void add_config(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* group = app.add_subcommand("config", "The configuration");
  group->require_subcommand(1);
  Command* showing = group->add_subcommand(
      "show", "List every key with its value, its default and where the value comes from");
  options->flags.add_to(*showing);
  showing->add_option("--url", options->client.url, "A broker to ask for its rules")
      ->type_name("URL");
  showing->add_option("--token", options->client.token, "Your token for it, or @FILE")
      ->type_name("TOKEN");
  showing->add_option("--ca", options->client.ca, "PEM file of certificates to trust")
      ->type_name("FILE");
  showing->add_flag("--json", options->client.json, "Print JSON");
  add_example(*showing, "parley config show --data DIR");
  showing->callback([=, &exit_code] { exit_code = show(*options); });
}

}  // namespace parley::app
