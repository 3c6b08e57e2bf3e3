// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <memory>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/config.h"
#include "app/options.h"
#include "app/text/compose.h"
#include "app/text/json.h"
#include "app/text/terminal.h"
#include "edge/events/delegation.h"
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

constexpr int not_found = 3;

struct RouteOptions {
  ConfigFlags flags;
  std::string file;
  std::string event;
  bool json = false;
};

// What would become of a payload: a delegation, or a reason why there is none.
struct DryRun {
  std::string reason;
  size_t route = 0;  // its number, from 1
  std::string conditions;
  std::string worker;
  std::string text;
};

DryRun dry_run(const Config& config, const edge::events::Delivery& delivery, Json payload) {
  const auto event = edge::events::read_event(delivery, payload);
  if (!event) {
    return {.reason = event.error().reason};
  }
  if (event->user.is_bot && !config.github_bots) {
    return {.reason = "a bot did it; github.bots says whether that is delegated"};
  }
  const auto routes = config.events.routes_in_use();
  const edge::events::EventRoute* const route = edge::events::find_route(routes, *event);
  if (route == nullptr) {
    return {.reason = "no [[github.route]] fits " + event->type + " of " + event->repository};
  }
  base::SystemClock clock;
  return {.reason = {},
          .route = static_cast<size_t>(route - routes.data()) + 1,
          .conditions = edge::events::conditions_of(*route),
          .worker = route->terms.worker,
          .text = edge::events::delegation_of(*event, route->terms,
                                              {.name = config.github_as, .now = clock.now()})
                      .text};
}

int show_dry_run(const DryRun& run, bool has_own_routes, bool json) {
  const std::string table = has_own_routes ? "[[github.route]]" : "the built-in routes";
  if (json) {
    std::string text;
    lib::JsonWriter out(text);
    out.object().key("state").plain(run.reason.empty() ? "delegated" : "ignored");
    if (run.reason.empty()) {
      out.key("route").number(uint64_t{run.route}).key("of").text(table);
      out.key("conditions").text(run.conditions).key("worker").text(run.worker);
      out.key("delegation").raw(run.text);
    } else {
      out.key("reason").text(run.reason);
    }
    out.end_object();
    print_json(text);
  } else if (run.reason.empty()) {
    lib::JsonDocument document;
    const auto delegation = document.parse(run.text);
    const Json task = delegation ? delegation->find("task") : Json();
    Table facts({"FIELD", "VALUE"});
    facts.add({{"route"}, {std::to_string(run.route) + " of " + table}});
    facts.add({{"fits"}, {printable(run.conditions)}});
    facts.add({{"worker"}, {printable(run.worker)}});
    for (const auto& [key, value] : task.members()) {
      facts.add({{std::string(key)}, {printable(text_of(task, key))}});
    }
    std::printf("%s\n%s\n", facts.render(wants_colours()).c_str(),
                printable_json(run.text).c_str());
  } else {
    std::printf("ignored: %s\n", printable(run.reason).c_str());
  }
  return run.reason.empty() ? 0 : not_found;
}

int test_route(const RouteOptions& options) {
  const auto config = load_config(options.flags.sources());
  if (!config) {
    return complain(failure_of(config.error()));
  }
  const auto text = read_source(options.file == "-" ? "-" : "@" + options.file);
  if (!text) {
    return complain(text.error());
  }
  lib::JsonDocument document;
  const auto payload = document.parse(*text);
  if (!payload) {
    return complain(failure_of(payload.error()));
  }
  const std::string event =
      options.event.empty() ? std::string(edge::events::guess_event(*payload)) : options.event;
  if (event.empty()) {
    return complain({"BAD_REQUEST", "the payload does not show of which event it is",
                     "Name it as the header X-GitHub-Event does, with --event issues."});
  }
  return show_dry_run(dry_run(*config, {event, "dry-run"}, *payload),
                      !config->events.routes.empty(), options.json);
}

void add_route(Command& app, int& exit_code) {
  const auto options = std::make_shared<RouteOptions>();
  Command* group = app.add_subcommand("route", "What becomes of events of GitHub");
  group->require_subcommand(1);
  Command* testing = group->add_subcommand(
      "test", "Show which route fits a payload, and the delegation that it would make");
  testing->add_option("FILE", options->file, "The payload as GitHub sends it; - is standard input")
      ->required();
  testing->add_option("--event", options->event, "Its X-GitHub-Event; else what the payload shows")
      ->type_name("NAME");
  options->flags.add_to(*testing);
  testing->add_flag("--json", options->json, "Print JSON");
  add_example(*testing, "parley route test event.json --event issues");
  testing->callback([=, &exit_code] { exit_code = test_route(*options); });
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
  add_route(app, exit_code);
}

}  // namespace parley::app
