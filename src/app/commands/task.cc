// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;

// Shared by the closures of one group, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string id;
  std::string to;
  std::string director;
  std::string thread;
  std::string agent;
  std::string state;
  bool silent = false;
  uint64_t limit = 100;
};

Colour colour_of(const std::string& state) {
  return state == "failed" || state == "blocked" ? Colour::red
         : state == "completed"                  ? Colour::dim
                                                 : Colour::yellow;
}

// `in_progress, silent for 12m`
std::string standing(Json task) {
  const std::string silent = text_of(task, "silent_for");
  return text_of(task, "state") + (silent.empty() ? "" : ", silent for " + silent);
}

int list(const Options& options) {
  std::string path = "/v1/tasks?limit=" + std::to_string(options.limit);
  path += options.state.empty() ? "" : "&state=" + encoded(options.state);
  path += options.agent.empty() ? "" : "&agent=" + encoded(options.agent);
  path += options.silent ? "&silent=true" : "";
  return ask_and_show(options.client, {"GET", path}, [](Json answer) {
    Table table({"TASK", "STATE", "DIRECTOR", "SPECIALIST", "LAST HEARD", "TITLE"});
    const Json tasks = answer.find("tasks");
    for (const Json task : tasks ? tasks.elements() : Json::Elements()) {
      constexpr size_t title_columns = 50;
      table.add({{text_of(task, "id")},
                 {standing(task), colour_of(text_of(task, "state"))},
                 {text_of(task, "director")},
                 {text_of(task, "specialist")},
                 {text_of(task, "last_heard"), Colour::dim},
                 {shortened(printable(text_of(task, "title")), title_columns)}});
    }
    std::printf("%s", table.empty() ? "no tasks\n" : table.render(wants_colours()).c_str());
    return 0;
  });
}

// The members of a content, or the text that it is.
void print_words(Json answer, std::string_view key) {
  const Json said = answer.find(key);
  if (!said) {
    return;
  }
  std::printf("%s of %s, %s\n", printable(text_of(said, "type")).c_str(),
              printable(text_of(said, "from")).c_str(), text_of(said, "timestamp").c_str());
  const Json content = said.find("content");
  if (!content.is_object()) {
    std::printf("  %s\n", printable(content.as_string().value_or(content.raw())).c_str());
  }
  for (const auto& [name, value] : content.members()) {
    std::printf("  %s: %s\n", printable(name).c_str(),
                printable(value.as_string().value_or(value.raw())).c_str());
  }
}

int print_task(Json answer) {
  const std::string line =
      "task " + text_of(answer, "id") + ": " + standing(answer) + ", " + text_of(answer, "title");
  std::printf("%s\n", printable(line).c_str());
  const std::string given = "given by " + text_of(answer, "director") + " to " +
                            text_of(answer, "specialist") + " " + text_of(answer, "created") +
                            ", in thread " + text_of(answer, "thread");
  std::printf("%s\n", printable(given).c_str());
  print_words(answer, "status");
  print_words(answer, "outcome");
  const Json moves = answer.find("reassignments");
  for (const Json move : moves ? moves.elements() : Json::Elements()) {
    std::printf("reassigned from %s to %s by %s %s\n", printable(text_of(move, "from")).c_str(),
                printable(text_of(move, "to")).c_str(), printable(text_of(move, "by")).c_str(),
                text_of(move, "at").c_str());
  }
  const Json others = answer.find("others");
  for (const Json other : others ? others.elements() : Json::Elements()) {
    const std::string also = "also: " + text_of(other, "state") + ", given by " +
                             text_of(other, "director") + " to " + text_of(other, "specialist") +
                             ", in thread " + text_of(other, "thread");
    std::printf("%s\n", printable(also).c_str());
  }
  return 0;
}

int show(const Options& options) {
  std::string path = "/v1/tasks/" + encoded(options.id);
  path += options.director.empty() ? "" : "?director=" + encoded(options.director);
  path += options.thread.empty()
              ? ""
              : (options.director.empty() ? "?thread=" : "&thread=") + encoded(options.thread);
  return ask_and_show(options.client, {"GET", path}, print_task);
}

int reassign(const Options& options) {
  std::string body;
  lib::JsonWriter out(body);
  out.object().key("to").text(options.to);
  if (!options.director.empty()) {
    out.key("director").text(options.director);
  }
  if (!options.thread.empty()) {
    out.key("thread").text(options.thread);
  }
  out.end_object();
  const HttpCall call{"POST", "/v1/tasks/" + encoded(options.id) + "/reassign", body, {}};
  return ask_and_show(options.client, call, print_task);
}

}  // namespace

void add_task(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* task =
      app.add_subcommand("task", "Show a task: who has it, how far it is, what came of it");
  task->add_option("ID", options->id, "The task: the taskId of its messages");
  task->add_option("--director", options->director, "Who gave it, where several gave one");
  task->add_option("--thread", options->thread, "Its conversation, where several have one");
  add_client_options(*task, options->client);
  add_example(*task, "parley task research-7");

  Command* listing = task->add_subcommand("list", "List tasks, newest first");
  listing->add_option("--state", options->state, "Only those that stand so")
      ->one_of(
          {"assigned", "in_progress", "acknowledged", "partial", "blocked", "failed", "completed"});
  listing->add_option("--agent", options->agent, "Only those that this agent gave or has");
  listing->add_flag("--silent", options->silent, "Only those of which nothing is heard");
  listing->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 1'000);
  add_client_options(*listing, options->client);
  add_example(*listing, "parley task list --silent");
  listing->callback([=, &exit_code] { exit_code = list(*options); });

  Command* moving = task->add_subcommand("reassign", "Give a task to another agent");
  moving->add_option("ID", options->id, "The task")->required();
  moving->add_option("--to", options->to, "The agent that gets it")->required();
  moving->add_option("--director", options->director, "Who gave it, where several gave one");
  moving->add_option("--thread", options->thread, "Its conversation, where several have one");
  add_client_options(*moving, options->client);
  add_example(*moving, "parley task reassign research-7 --to sue");
  moving->callback([=, &exit_code] { exit_code = reassign(*options); });

  task->callback([=, &exit_code] {
    if (task->ran_subcommand()) {
      return;
    }
    if (options->id.empty()) {
      miss_argument("ID");
    }
    exit_code = show(*options);
  });
}

}  // namespace parley::app
