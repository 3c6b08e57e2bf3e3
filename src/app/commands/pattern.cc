// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/compose.h"
#include "app/terminal.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;
using lib::JsonWriter;

// Shared by the closures of one group, because CLI11 copies them.
struct Options {
  ClientOptions client;
  Draft draft{.type = "request"};
  std::vector<std::string> agents;
  std::string strategy = "all";
  std::string window;
  std::string on_partial = "proceed_with_available";
  std::string id;
  std::string resolution;
  bool open = false;
  uint64_t limit = 100;
};

// Posts `members`, which end with `"message":`, and the message.
int post(const Options& options, const char* path, std::string members) {
  const auto body = read_body(options.draft);
  if (!body) {
    return complain(body.error());
  }
  Draft draft = options.draft;
  draft.to = options.agents.front();
  base::SystemClock clock;
  members += compose(draft, *body, lib::random_uuid(), clock.now()) + "}";
  return ask_and_show(options.client,
                      {"POST", path, std::move(members), {{"Parley-Dialect", "flow"}}},
                      [](Json answer) {
                        std::printf("%s\n", printable(text_of(answer, "id")).c_str());
                        return 0;
                      });
}

void write_names(JsonWriter& out, const char* key, const std::vector<std::string>& names) {
  out.key(key).array();
  for (const std::string& name : names) {
    out.text(name);
  }
  out.end_array();
}

int scatter(const Options& options) {
  std::string text;
  JsonWriter out(text);
  out.object();
  write_names(out, "receivers", options.agents);
  out.key("strategy").text(options.strategy).key("on_partial").text(options.on_partial);
  if (!options.window.empty()) {
    out.key("timeout").text(options.window);
  }
  out.key("message");
  return post(options, "/v1/scatter?lenient=true", std::move(text));
}

int start_pipeline(const Options& options) {
  std::string text;
  JsonWriter out(text);
  out.object();
  write_names(out, "stages", options.agents);
  out.key("message");
  return post(options, "/v1/pipelines?lenient=true", std::move(text));
}

std::string place_of(Json owner, const char* key) {
  const Json place = owner.find(key);
  if (!place) {
    return "";
  }
  const std::string id = text_of(place, "id");
  return id.empty() ? text_of(place, "seq") : id;
}

int show_scatter(const Options& options) {
  return ask_and_show(
      options.client, {"GET", "/v1/scatter/" + encoded(options.id)}, [](Json answer) {
        std::printf("%s: %s of %s answers (%s)\n", text_of(answer, "state").c_str(),
                    text_of(answer, "good").c_str(), text_of(answer, "needed").c_str(),
                    text_of(answer, "strategy").c_str());
        Table table({"AGENT", "STATE", "STATUS", "RESPONSE"});
        for (const Json member : answer.find("members").elements()) {
          table.add({{text_of(member, "agent")},
                     {text_of(member, "state")},
                     {text_of(member, "status")},
                     {place_of(member, "response"), Colour::dim}});
        }
        std::printf("%s", table.render(wants_colours()).c_str());
        return 0;
      });
}

int show_pipeline(const Options& options) {
  return ask_and_show(
      options.client, {"GET", "/v1/pipelines/" + encoded(options.id)}, [](Json answer) {
        const std::string waits_for = text_of(answer, "waits_for");
        const std::string error = text_of(answer, "error");
        std::printf("%s%s%s\n", text_of(answer, "state").c_str(),
                    waits_for.empty() ? "" : (", waits for " + printable(waits_for)).c_str(),
                    error.empty() ? "" : (": " + printable(error)).c_str());
        Table table({"STAGE", "STATE", "BEGAN", "ENDED", "RESPONSE"});
        for (const Json stage : answer.find("stages").elements()) {
          table.add({{text_of(stage, "agent")},
                     {text_of(stage, "state")},
                     {text_of(stage, "began"), Colour::dim},
                     {text_of(stage, "ended"), Colour::dim},
                     {place_of(stage, "response"), Colour::dim}});
        }
        std::printf("%s", table.render(wants_colours()).c_str());
        return 0;
      });
}

int list_escalations(const Options& options) {
  const Call call{"GET", "/v1/escalations?limit=" + std::to_string(options.limit) +
                             (options.open ? "&state=open" : "")};
  return ask_and_show(options.client, call, [](Json answer) {
    Table table({"ID", "STATE", "SINCE", "CAUSE", "AGENT", "WHY", "RESOLUTION"});
    for (const Json escalation : answer.find("escalations").elements()) {
      constexpr size_t columns = 60;
      const std::string state = text_of(escalation, "state");
      const std::string by = text_of(escalation, "resolved_by");
      table.add({{text_of(escalation, "id")},
                 {state, state == "open" ? Colour::yellow : Colour::plain},
                 {text_of(escalation, "since"), Colour::dim},
                 {text_of(escalation, "cause")},
                 {text_of(escalation, "agent")},
                 {shortened(printable(text_of(escalation, "why")), columns)},
                 {by.empty() ? "" : by + ": " + printable(text_of(escalation, "resolution"))}});
    }
    std::printf("%s", table.empty() ? "no escalations\n" : table.render(wants_colours()).c_str());
    return 0;
  });
}

int resolve(const Options& options) {
  std::string body;
  JsonWriter(body).object().key("resolution").text(options.resolution).end_object();
  const Call call{"POST", "/v1/escalations/" + encoded(options.id) + "/resolve", body, {}};
  return ask_and_show(options.client, call, [&](Json) {
    std::printf("resolved escalation %s\n", printable(options.id).c_str());
    return 0;
  });
}

void add_draft(Command& command, const std::shared_ptr<Options>& options) {
  command.add_option("BODY", options->draft.body, "The text, - for standard input, or @FILE")
      ->required();
  command.add_option("--as", options->draft.as, "text or json")->one_of({"text", "json"});
  command.add_option("--priority", options->draft.priority, "critical, high, normal or low")
      ->one_of({"critical", "high", "normal", "low"});
  command.add_option("--thread", options->draft.thread, "The conversation; else a new one");
  add_client_options(command, options->client);
}

void add_show(Command& group, int& exit_code, const std::shared_ptr<Options>& options,
              const char* example, int (*show)(const Options&)) {
  Command* command = group.add_subcommand("show", "How it stands");
  command->add_option("ID", options->id, "Its id, as it was printed")->required();
  add_client_options(*command, options->client);
  add_example(*command, example);
  command->callback([=, &exit_code] { exit_code = show(*options); });
}

void add_scatter(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* group = app.add_subcommand("scatter", "Ask several agents and gather their answers");
  group->require_subcommand(1);
  Command* asks = group->add_subcommand("ask", "Ask them, and print the id of the question");
  asks->add_option("--to", options->agents, "An agent to ask; may be repeated")->required();
  asks->add_option("--strategy", options->strategy,
                   "When there are enough: all, any, majority or quorum(N); all");
  takes_duration(*asks->add_option("--window", options->window,
                                   "How long to wait; else the rule flow.gather_window"));
  asks->add_option("--on-partial", options->on_partial,
                   "At its end: proceed_with_available, fail or extend_timeout")
      ->one_of({"proceed_with_available", "fail", "extend_timeout"});
  add_draft(*asks, options);
  add_example(*asks, "parley scatter ask --to bo --to cy --strategy majority \"Ship it?\"");
  asks->callback([=, &exit_code] { exit_code = scatter(*options); });
  add_show(*group, exit_code, options, "parley scatter show 1b4e28ba-2fa1-41d2-883f-0016d3cca427",
           &show_scatter);
}

void add_pipeline(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* group = app.add_subcommand("pipeline", "Send work through agents, one after another");
  group->require_subcommand(1);
  Command* starts = group->add_subcommand("start", "Start one, and print its id");
  starts->add_option("--stage", options->agents, "The next agent; repeat it for each stage")
      ->required();
  takes_duration(*starts->add_option("--stage-timeout", options->draft.response_timeout,
                                     "How long each stage may take; else flow.request_timeout"));
  add_draft(*starts, options);
  add_example(*starts, "parley pipeline start --stage coder --stage reviewer \"Add a dark mode\"");
  starts->callback([=, &exit_code] { exit_code = start_pipeline(*options); });
  add_show(*group, exit_code, options, "parley pipeline show 1b4e28ba-2fa1-41d2-883f-0016d3cca427",
           &show_pipeline);
}

void add_escalations(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* group = app.add_subcommand("escalations", "What a human is asked to decide");
  group->require_subcommand(1);
  Command* lists = group->add_subcommand("list", "List them, newest first");
  lists->add_flag("--open", options->open, "Only those that nobody has resolved");
  lists->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 1'000);
  add_client_options(*lists, options->client);
  add_example(*lists, "parley escalations list --open");
  lists->callback([=, &exit_code] { exit_code = list_escalations(*options); });
  Command* resolves = group->add_subcommand("resolve", "Say what was decided");
  resolves->add_option("ID", options->id, "The escalation")->required();
  resolves->add_option("RESOLUTION", options->resolution, "What was decided")->required();
  add_client_options(*resolves, options->client);
  add_example(*resolves, "parley escalations resolve 17 \"cy takes over\"");
  resolves->callback([=, &exit_code] { exit_code = resolve(*options); });
}

}  // namespace

void add_patterns(Command& app, int& exit_code) {
  add_scatter(app, exit_code);
  add_pipeline(app, exit_code);
  add_escalations(app, exit_code);
}

}  // namespace parley::app
