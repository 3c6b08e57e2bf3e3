// SPDX-License-Identifier: Apache-2.0
#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell name_of(Json workspace) {
  const auto name = workspace.as_string();
  return {name ? std::string(*name) : text_of(workspace, "name")};
}

}  // namespace

void add_workspace(Command& app, int& exit_code) {
  const RouteCommand add{.name = "add",
                         .help = "Make one; prints its admin's token once",
                         .example = "parley workspace add research",
                         .arguments = {required("NAME", "Its name")},
                         .call = "POST /v1/workspaces",
                         .body = Body{{"name", "{NAME}"}},
                         .show = [](Json answer, const Given& given) {
                           return show_token(
                               "the admin of workspace " + printable(given.at("NAME")), answer);
                         }};
  const RouteCommand list{.name = "list",
                          .help = "List them",
                          .example = "parley workspace list",
                          .call = "GET /v1/workspaces",
                          .show = lists("workspaces", "", {{"NAME", name_of}})};
  add_route_command(app, exit_code,
                    {.name = "workspace",
                     .help = "Workspaces: nothing crosses between them",
                     .subcommands = {add, list}});
}

}  // namespace parley::app
