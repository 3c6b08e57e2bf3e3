// SPDX-License-Identifier: Apache-2.0
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/route_command.h"
#include "core/agents/agent.h"

namespace parley::app {

void add_human(Command& app, int& exit_code) {
  const RouteCommand add{.name = "add",
                         .help = "Register a person; prints the token once",
                         .example = "parley human add ada --right approver",
                         .arguments = {required("NAME", "The name; others write human:NAME"),
                                       {.name = "--right",
                                        .help = "A right the person has; may be repeated",
                                        .kind = Argument::Kind::repeated,
                                        .words = words_of(core::right_words(UINT8_MAX))}},
                         .call = "POST /v1/humans",
                         .body = Body{{"name", "{NAME}"}, {"rights", "{--right}"}},
                         .show = [](lib::Json answer, const Given& given) {
                           return show_token("human:" + printable(given.at("NAME")), answer);
                         }};
  add_route_command(app, exit_code,
                    {.name = "human", .help = "Register people", .subcommands = {add}});
}

}  // namespace parley::app
