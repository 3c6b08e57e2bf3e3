// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell state_of(Json escalation) {
  const std::string state = text_of(escalation, "state");
  return {state, state == "open" ? Colour::yellow : Colour::plain};
}

Table::Cell resolution_of(Json escalation) {
  const std::string by = text_of(escalation, "resolved_by");
  return {by.empty() ? "" : by + ": " + printable(text_of(escalation, "resolution"))};
}

int show_escalation(Json answer, const Given& /*given*/) {
  Table table({"FIELD", "VALUE"});
  for (const std::string_view key :
       {"id", "state", "cause", "agent", "receiver", "why", "since", "debate", "thread",
        "resolution", "resolved_by", "resolved_at"}) {
    if (const std::string value = text_of(answer, key); !value.empty()) {
      table.add({{std::string(key)}, {visible(value)}});
    }
  }
  if (const std::string people = joined(answer.find("people")); !people.empty()) {
    table.add({{"people"}, {visible(people)}});
  }
  if (const std::string id = text_of(answer.find("message"), "id"); !id.empty()) {
    table.add({{"message"}, {visible(id)}});
  }
  std::printf("%s", table.render(wants_colours()).c_str());
  return 0;
}

}  // namespace

void add_escalations(Command& app, int& exit_code) {
  constexpr size_t why_columns = 60;
  const RouteCommand list{
      .name = "list",
      .help = "List them, newest first",
      .example = "parley escalations list --open",
      .arguments = {{.name = "--open",
                     .help = "Only those that nobody has resolved",
                     .kind = Argument::Kind::flag,
                     .value = "open"},
                    {.name = "--from",
                     .help = "Not before this time, such as 2026-02-01T00:00:00Z",
                     .type = "TIME"},
                    {.name = "--to", .help = "Before this time", .type = "TIME"},
                    limit_of(1'000)},
      .call =
          "GET /v1/escalations?limit={--limit}&state={--open}"
          "&from={--from}&to={--to}",
      .show = lists("escalations", "no escalations",
                    {{"ID", member("id")},
                     {"STATE", state_of},
                     {"SINCE", member("since", Colour::dim)},
                     {"CAUSE", member("cause")},
                     {"AGENT", member("agent")},
                     {"WHY", member("why", why_columns)},
                     {"RESOLUTION", resolution_of}})};
  const RouteCommand show{.name = "show",
                          .help = "Show one of them",
                          .example = "parley escalations show 17",
                          .arguments = {required("ID", "The escalation")},
                          .call = "GET /v1/escalations/{ID}",
                          .show = show_escalation};
  const RouteCommand resolve{
      .name = "resolve",
      .help = "Say what was decided",
      .example = "parley escalations resolve 17 \"cy takes over\"",
      .arguments = {required("ID", "The escalation"), required("RESOLUTION", "What was decided")},
      .call = "POST /v1/escalations/{ID}/resolve",
      .body = Body{{"resolution", "{RESOLUTION}"}},
      .show = says("resolved escalation {ID}")};
  add_route_command(app, exit_code,
                    {.name = "escalations",
                     .help = "What a human is asked to decide",
                     .subcommands = {list, show, resolve}});
}

}  // namespace parley::app
