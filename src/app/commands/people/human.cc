// SPDX-License-Identifier: Apache-2.0
#include "app/commands/commands.h"
#include "app/commands/webhook.h"
#include "app/options.h"
#include "app/route_command.h"
#include "core/agents/agent.h"

namespace parley::app {

void add_human(Command& app, int& exit_code) {
  const RouteCommand add{
      .name = "add",
      .help = "Register a person; prints the token once",
      .example = "parley human add ada --right approver",
      .arguments = {required("NAME", "The name; others write human:NAME"),
                    {.name = "--right",
                     .help = "A right the person has; may be repeated",
                     .kind = Argument::Kind::repeated,
                     .words = words_of(core::right_words(UINT8_MAX))},
                    {.name = "--webhook",
                     .help = "A URL that is told when mail waits; its secret is "
                             "printed once",
                     .type = "URL"}},
      .call = "POST /v1/humans",
      .body = Body{{"name", "{NAME}"}, {"rights", "{--right}"}, {"webhook", "{--webhook}"}},
      .show = [](lib::Json answer, const Given& given) {
        show_webhook_secret(answer);
        return show_token("human:" + printable(given.at("NAME")), answer);
      }};
  Command* human = add_route_command(
      app, exit_code, {.name = "human", .help = "Register people", .subcommands = {add}});
  add_webhook_command(*human, exit_code,
                      {.group = "human",
                       .route = "/v1/humans",
                       .key = "name",
                       .prefix = "human:",
                       .example = "ada"});
}

}  // namespace parley::app
