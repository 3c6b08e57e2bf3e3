// SPDX-License-Identifier: Apache-2.0
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

}  // namespace

void add_escalations(Command& app, int& exit_code) {
  constexpr size_t why_columns = 60;
  const RouteCommand list{.name = "list",
                          .help = "List them, newest first",
                          .example = "parley escalations list --open",
                          .arguments = {{.name = "--open",
                                         .help = "Only those that nobody has resolved",
                                         .kind = Argument::Kind::flag,
                                         .value = "open"},
                                        limit_of(1'000)},
                          .call = "GET /v1/escalations?limit={--limit}&state={--open}",
                          .show = lists("escalations", "no escalations",
                                        {{"ID", member("id")},
                                         {"STATE", state_of},
                                         {"SINCE", member("since", Colour::dim)},
                                         {"CAUSE", member("cause")},
                                         {"AGENT", member("agent")},
                                         {"WHY", member("why", why_columns)},
                                         {"RESOLUTION", resolution_of}})};
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
                     .subcommands = {list, resolve}});
}

}  // namespace parley::app
