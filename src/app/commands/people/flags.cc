// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell state_of(Json flag) {
  const std::string state = text_of(flag, "state");
  return {state, state == "open" ? Colour::yellow : Colour::plain};
}

int show(Json answer, const Given& /*given*/) {
  Table table({"FIELD", "VALUE"});
  for (const auto& [key, value] : answer.members()) {
    if (key != "flag" && key != "text") {
      table.add({{std::string(key)}, {printable(text_of(answer, key))}});
    }
  }
  std::printf("%s", table.render(wants_colours()).c_str());
  if (const Json flag = answer.find("flag")) {
    std::printf("\n%s\n", printable_json(flag.raw()).c_str());
  } else {
    std::printf("\n%s\n", printable(text_of(answer, "text")).c_str());
  }
  return 0;
}

}  // namespace

void add_flags(Command& app, int& exit_code) {
  constexpr size_t summary_columns = 60;
  const RouteCommand list{
      .name = "list",
      .help = "List them, newest first",
      .example = "parley flags list --open --wait 10m",
      .arguments = {{.name = "--open",
                     .help = "Only those that nobody has resolved",
                     .kind = Argument::Kind::flag,
                     .value = "open"},
                    {.name = "--wait",
                     .help = "Wait so long for one, if there is none",
                     .kind = Argument::Kind::wait},
                    limit_of(1'000)},
      .call = "GET /v1/moderation/flags?limit={--limit}&state={--open}&wait={--wait}",
      .show = lists("items", "no flags",
                    {{"ID", member("id")},
                     {"STATE", state_of},
                     {"SINCE", member("since", Colour::dim)},
                     {"FROM", member("from")},
                     {"SUMMARY", member("summary", summary_columns)},
                     {"RESOLVED BY", member("resolved_by")}})};
  const RouteCommand show_one{.name = "show",
                              .help = "Show what one says",
                              .example = "parley flags show 3",
                              .arguments = {required("ID", "The flag")},
                              .call = "GET /v1/moderation/flags/{ID}",
                              .show = show};
  const RouteCommand resolve{
      .name = "resolve",
      .help = "Say what was done about it",
      .example = "parley flags resolve 3 \"asked both to cool down\"",
      .arguments = {required("ID", "The flag"), required("RESOLUTION", "What was done")},
      .call = "POST /v1/moderation/flags/{ID}/resolve",
      .body = Body{{"resolution", "{RESOLUTION}"}},
      .show = says("resolved flag {ID}")};
  const RouteCommand raise{.name = "raise",
                           .help = "Put something before the moderators alone",
                           .example = "parley flags raise \"insult in issue 123, comment 4\"",
                           .arguments = {required("TEXT", "What they should know")},
                           .call = "POST /v1/moderation/flags",
                           .body = Body{{"flag", "{TEXT}"}, {"summary", "{TEXT}"}},
                           .show = says("the moderators have it")};
  add_route_command(app, exit_code,
                    {.name = "flags",
                     .help = "Private flags, for moderators alone",
                     .subcommands = {list, show_one, resolve, raise}});
}

}  // namespace parley::app
