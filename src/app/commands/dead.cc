// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell state_of(Json letter) {
  const Json resolution = letter.find("resolution");
  const std::string state =
      resolution && resolution.is_object() ? text_of(resolution, "status") : "";
  return {state, state == "pending" ? Colour::yellow : Colour::plain};
}

int show(Json answer, const Given& /*given*/) {
  const Json inner = answer.find("dead_letter");
  const Json letter = inner ? inner : answer;
  Table table({"FIELD", "VALUE"});
  for (const auto& [key, value] : letter.members()) {
    if (key != "original_message") {
      table.add({{std::string(key)}, {text_of(letter, key)}});
    }
  }
  std::printf("%s", table.render(wants_colours()).c_str());
  if (const Json original = answer.find("original_message")) {
    std::printf("\n%s\n", printable_json(original.raw()).c_str());
  }
  return 0;
}

RouteCommand list_command() {
  constexpr size_t error_columns = 50;
  return {.name = "list",
          .help = "List them, newest first",
          .example = "parley dead list --pending",
          .arguments = {{.name = "--pending",
                         .help = "Only those that nobody has resolved",
                         .kind = Argument::Kind::flag,
                         .value = "pending"},
                        limit_of(1'000)},
          .call = "GET /v1/dead-letters?limit={--limit}&state={--pending}",
          .show = lists("dead_letters", "no dead letters",
                        {{"ID", member("id")},
                         {"REASON", member("reason")},
                         {"FAILED", member("failed_at", Colour::dim)},
                         {"FROM", member("sender")},
                         {"TO", member("receiver")},
                         {"RETRIES", member("retry_count")},
                         {"STATE", state_of},
                         {"LAST ERROR", member("last_error", error_columns)}})};
}

// What can be done about one; `done` is printed then.
RouteCommand resolve_command(const std::string& act, const std::string& help,
                             const std::string& done) {
  return {.name = act,
          .help = help,
          .example = "parley dead " + act + " 17",
          .arguments = {required("ID", "The dead letter")},
          .call = "POST /v1/dead-letters/{ID}/" + act,
          .body = Body{},
          .show = says(done + " dead letter {ID}")};
}

}  // namespace

void add_dead(Command& app, int& exit_code) {
  const RouteCommand show_one{.name = "show",
                              .help = "Show one with its message",
                              .example = "parley dead show 17",
                              .arguments = {required("ID", "The dead letter")},
                              .call = "GET /v1/dead-letters/{ID}",
                              .show = show};
  add_route_command(
      app, exit_code,
      {.name = "dead",
       .help = "Messages that could not be delivered",
       .subcommands = {list_command(), show_one,
                       resolve_command("retry", "Deliver it once more", "retried"),
                       resolve_command("discard", "Give it up for good", "discarded"),
                       resolve_command("escalate", "Hand it to a person", "escalated")}});
}

}  // namespace parley::app
