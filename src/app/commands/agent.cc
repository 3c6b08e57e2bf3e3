// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/client/agent_token.h"
#include "app/commands/commands.h"
#include "app/commands/webhook.h"
#include "app/options.h"
#include "app/route_command.h"
#include "core/model/policy.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;
using lib::JsonWriter;

// Shared by the closures of one group, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string id;
  std::string dialect;
  std::string name;
  std::string role;
  std::vector<std::string> capabilities;
  std::vector<std::string> actions;
  std::vector<std::string> topics;
  std::string webhook;
  std::string spawner;
  std::vector<std::string> scope;
  std::vector<std::string> scope_types;
};

void write_list(JsonWriter& writer, std::string_view key, const std::vector<std::string>& items) {
  if (items.empty()) {
    return;
  }
  writer.key(key).array();
  for (const std::string& item : items) {
    writer.text(item);
  }
  writer.end_array();
}

void write_text(JsonWriter& writer, std::string_view key, const std::string& value) {
  if (!value.empty()) {
    writer.key(key).text(value);
  }
}

int add(const Options& options) {
  std::string body;
  JsonWriter writer(body);
  writer.object().key("id").text(options.id);
  // One that is not given stays what it is, also of an agent that is registered already.
  write_text(writer, "dialect", options.dialect);
  write_text(writer, "name", options.name);
  write_text(writer, "role", options.role);
  write_list(writer, "capabilities", options.capabilities);
  write_list(writer, "supportedActions", options.actions);
  write_list(writer, "subscriptions", options.topics);
  write_text(writer, "webhook", options.webhook);
  write_text(writer, "spawner", options.spawner);
  if (!options.scope.empty()) {
    writer.key("scope").object();
    write_list(writer, "to", options.scope);
    write_list(writer, "types", options.scope_types);
    writer.end_object();
  }
  writer.end_object();
  return ask_and_show(options.client, {"POST", "/v1/agents", body, {}}, [&](Json answer) {
    show_webhook_secret(answer);
    return show_token("agent " + printable(options.id), answer);
  });
}

Colour colour_of(std::string_view status) {
  if (status == "online" || status == "available" || status == "idle") {
    return Colour::green;
  }
  return status == "offline" ? Colour::dim : Colour::plain;
}

Table::Cell availability_of(Json agent) {
  const std::string availability = text_of(agent, "availability");
  return {availability == "available" ? "yes" : availability, colour_of(availability)};
}

Table::Cell status_of(Json agent) {
  const std::string status = text_of(agent, "status");
  return {status, colour_of(status)};
}

Table::Cell unsettled_of(Json agent) { return {text_of(agent.find("outbox"), "unsettled")}; }

int list(Json answer, const Given& /*given*/) {
  print_table(answer.find("agents"),
              "no such agents; add one with `parley agent add ID --dialect flow`",
              {{"ID", member("id")},
               {"KIND", member("kind")},
               {"DIALECT", member("dialect")},
               {"ROLE", member("role")},
               {"AVAILABLE", availability_of},
               {"STATUS", status_of},
               {"QUEUED", member("queue_depth")},
               {"OPEN", unsettled_of}});
  if (const Json more = answer.find("more"); more && more.as_bool() == true) {
    std::fprintf(stderr, "these are the first of %s; narrow it down by --role or --capability\n",
                 text_of(answer, "count").c_str());
  }
  return 0;
}

int show(Json answer, const Given& /*given*/) {
  Table table({"FIELD", "VALUE"});
  for (const auto& [key, value] : answer.members()) {
    if (!value.is_object()) {
      table.add({{std::string(key)}, {text_of(answer, key)}});
      continue;
    }
    for (const auto& [part, ignored] : value.members()) {
      table.add({{std::string(key) + "." + std::string(part)}, {text_of(value, part)}});
    }
  }
  std::printf("%s", table.render(wants_colours()).c_str());
  return 0;
}

// From standard input, because what stands on a command line can be seen by others.
int keep(const Options& options) {
  constexpr size_t token_bytes_max = 4'096;
  std::string token(token_bytes_max, '\0');
  token.resize(std::fread(token.data(), 1, token.size(), stdin));
  constexpr std::string_view space = " \t\r\n";
  token.erase(token.find_last_not_of(space) + 1);
  token.erase(0, std::min(token.find_first_not_of(space), token.size()));
  const bool good =
      !token.empty() && std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!good) {
    const bool is_kept = kept_agent_token(options.id).has_value();
    return complain(
        {"BAD_REQUEST",
         "standard input holds no token" +
             (is_kept ? "; the one that is kept for " + options.id + " stays" : std::string()),
         "Pipe it in: parley agent add bo | parley agent keep bo. An agent that is "
         "registered already is told none."});
  }
  const auto path = store_agent_token(options.id, token);
  if (!path) {
    return complain(path.error());
  }
  std::printf("%s\n", path->c_str());
  return 0;
}

void add_adding(Command& agent, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* adding = agent.add_subcommand("add", "Register an agent; prints its token once");
  adding->add_option("ID", options->id, "Its name")->required();
  adding->add_option("--dialect", options->dialect, "The protocol it speaks; flow if not given")
      ->one_of(core::dialect_list());
  adding->add_option("--name", options->name, "A name for people");
  adding->add_option("--role", options->role,
                     "Its role in its dialect: orchestrator in flow; coordinator, worker, "
                     "specialist or observer in collab; director or specialist in inbox; in squad "
                     "its name says it");
  adding->add_option("--capability", options->capabilities, "What it can do; may be repeated")
      ->takes_one();
  adding->add_option("--action", options->actions, "An action it supports; may be repeated")
      ->takes_one();
  adding
      ->add_option("--subscribe", options->topics,
                   "A topic it listens to, or a pattern such as 'build.*'; may be repeated")
      ->takes_one();
  adding
      ->add_option("--webhook", options->webhook,
                   "A URL that is told when mail waits; its secret is printed once")
      ->type_name("URL");
  adding->add_option("--spawner", options->spawner, "In squad: the main that it answers to")
      ->type_name("ID");
  adding
      ->add_option("--scope", options->scope,
                   "Of a cron in squad: an agent that it may write to, or several by a wildcard "
                   "such as 'agent:main:subagent:*'; may be repeated")
      ->takes_one();
  adding
      ->add_option("--scope-type", options->scope_types,
                   "And a type of message that it may send; all if none is given; may be repeated")
      ->takes_one();
  add_client_options(*adding, options->client);
  add_example(*adding, "parley agent add bo --dialect flow --capability review");
  adding->callback([=, &exit_code] { exit_code = add(*options); });
}

// By a main, whose token asks for it: what is left out is the main's.
void add_spawning(Command& agent, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* spawning = agent.add_subcommand(
      "spawn",
      "As a main of squad: register a subagent, council or reviewer; prints its token once");
  spawning->add_option("ID", options->id, "Its name, such as agent:main:subagent:7")->required();
  spawning->add_option("--name", options->name, "A name for people");
  spawning
      ->add_option("--webhook", options->webhook,
                   "A URL that is told when mail waits; its secret is printed once")
      ->type_name("URL");
  add_client_options(*spawning, options->client);
  add_example(*spawning, "parley agent spawn agent:main:subagent:7 --agent agent:main:main");
  spawning->callback([=, &exit_code] { exit_code = add(*options); });
}

RouteCommand list_command() {
  return {.name = "list",
          .help = "List who is registered",
          .example = "parley agent list --capability review --json",
          .arguments = {{.name = "--capability",
                         .help = "Only those that have it",
                         .kind = Argument::Kind::several,
                         .texts_max = 1},
                        {.name = "--role", .help = "Only those that have it"},
                        {.name = "--dialect",
                         .help = "Only those that speak it",
                         .words = core::dialect_list()},
                        {.name = "--status", .help = "Only those that are idle, working, …"}},
          .call =
              "GET /v1/agents?capability={--capability}&role={--role}&dialect={--dialect}"
              "&status={--status}",
          .show = list};
}

// A row that is about one agent.
RouteCommand about_one(RouteCommand row) {
  row.example = "parley agent " + row.name + " bo";
  row.arguments = {required("ID", "Its name")};
  return row;
}

void add_keeping(Command& agent, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* keeping = agent.add_subcommand(
      "keep", "Keep a token, from standard input, where --agent ID finds it; prints the file");
  keeping->add_option("ID", options->id, "Whose token it is")->required();
  add_example(*keeping, "parley agent add bo | parley agent keep bo");
  keeping->callback([=, &exit_code] { exit_code = keep(*options); });
}

}  // namespace

void add_agent(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* agent = app.add_subcommand("agent", "Register, list and remove agents");
  agent->require_subcommand(1);
  add_adding(*agent, exit_code, options);
  add_spawning(*agent, exit_code, options);
  add_route_command(*agent, exit_code, list_command());
  add_route_command(*agent, exit_code,
                    about_one({.name = "show",
                               .help = "Show one agent with its health figures",
                               .call = "GET /v1/agents/{ID}",
                               .show = show}));
  add_webhook_command(*agent, exit_code,
                      {.group = "agent", .route = "/v1/agents", .key = "id", .example = "bo"});
  add_route_command(*agent, exit_code,
                    about_one({.name = "remove",
                               .help = "Remove an agent; its token ends",
                               .call = "DELETE /v1/agents/{ID}",
                               .show = says("agent {ID} is removed")}));
  add_route_command(
      *agent, exit_code,
      about_one({.name = "reset",
                 .help = "Close an agent's circuit breaker and forget what it used of its limits",
                 .call = "POST /v1/agents/{ID}/reset",
                 .show = says("agent {ID} begins anew: breaker, budgets and limits; what a limit "
                              "holds back already keeps its time")}));
  add_route_command(*agent, exit_code,
                    about_one({.name = "start",
                               .help = "Say that the agent's session of work begins",
                               .call = "POST /v1/agents/{ID}/session",
                               .body = Body{{"event", "start"}},
                               .show = says("{agent} works since {started_at}; {waiting} wait")}));
  add_route_command(
      *agent, exit_code,
      about_one({.name = "end",
                 .help = "Say that it is over; what waits for a squad subagent is archived",
                 .call = "POST /v1/agents/{ID}/session",
                 .body = Body{{"event", "end"}},
                 .show = says("{agent} has ended at {ended_at}; {archived} were archived")}));
  add_keeping(*agent, exit_code, options);
}

}  // namespace parley::app
