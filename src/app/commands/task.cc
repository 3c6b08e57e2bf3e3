// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"
#include "core/conversation/tasks.h"

namespace parley::app {

namespace {

using lib::Json;

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

Table::Cell state_of(Json task) { return {standing(task), colour_of(text_of(task, "state"))}; }

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

int print_task(Json answer, const Given& /*given*/) {
  const std::string line =
      "task " + text_of(answer, "id") + ": " + standing(answer) + ", " + text_of(answer, "title");
  std::printf("%s\n", printable(line).c_str());
  const std::string given = "given by " + text_of(answer, "director") + " to " +
                            text_of(answer, "specialist") + " " + text_of(answer, "created") +
                            ", in thread " + text_of(answer, "thread");
  std::printf("%s\n", printable(given).c_str());
  print_words(answer, "status");
  print_words(answer, "outcome");
  for (const Json move : answer.find("reassignments").elements()) {
    std::printf("reassigned from %s to %s by %s %s\n", printable(text_of(move, "from")).c_str(),
                printable(text_of(move, "to")).c_str(), printable(text_of(move, "by")).c_str(),
                text_of(move, "at").c_str());
  }
  for (const Json other : answer.find("others").elements()) {
    const std::string also = "also: " + text_of(other, "state") + ", given by " +
                             text_of(other, "director") + " to " + text_of(other, "specialist") +
                             ", in thread " + text_of(other, "thread");
    std::printf("%s\n", printable(also).c_str());
  }
  return 0;
}

RouteCommand list_command() {
  constexpr size_t title_columns = 50;
  return {.name = "list",
          .help = "List tasks, newest first",
          .example = "parley task list --silent",
          .arguments = {{.name = "--state",
                         .help = "Only those that stand so",
                         .words = words_of(core::task_state_words.all())},
                        {.name = "--agent", .help = "Only those that this agent gave or has"},
                        {.name = "--silent",
                         .help = "Only those of which nothing is heard",
                         .kind = Argument::Kind::flag,
                         .value = "true"},
                        limit_of(1'000)},
          .call = "GET /v1/tasks?limit={--limit}&state={--state}&agent={--agent}&silent={--silent}",
          .show = lists("tasks", "no tasks",
                        {{"TASK", member("id")},
                         {"STATE", state_of},
                         {"DIRECTOR", member("director")},
                         {"SPECIALIST", member("specialist")},
                         {"LAST HEARD", member("last_heard", Colour::dim)},
                         {"TITLE", member("title", title_columns)}})};
}

}  // namespace

void add_task(Command& app, int& exit_code) {
  const Argument director{.name = "--director", .help = "Who gave it, where several gave one"};
  const Argument thread{.name = "--thread", .help = "Its conversation, where several have one"};
  const RouteCommand reassign{
      .name = "reassign",
      .help = "Give a task to another agent",
      .example = "parley task reassign research-7 --to sue",
      .arguments = {required("ID", "The task"), required("--to", "The agent that gets it"),
                    director, thread},
      .call = "POST /v1/tasks/{ID}/reassign",
      .body = Body{{"to", "{--to}"}, {"director", "{--director}"}, {"thread", "{--thread}"}},
      .show = print_task};
  add_route_command(app, exit_code,
                    {.name = "task",
                     .help = "Show a task: who has it, how far it is, what came of it",
                     .example = "parley task research-7",
                     .arguments = {{.name = "ID", .help = "The task: the taskId of its messages"},
                                   director,
                                   thread},
                     .call = "GET /v1/tasks/{ID}?director={--director}&thread={--thread}",
                     .show = print_task,
                     .subcommands = {list_command(), reassign}});
}

}  // namespace parley::app
