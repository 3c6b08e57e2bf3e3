// SPDX-License-Identifier: Apache-2.0
#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell waiters_of(Json lock) {
  std::string waiting;
  for (const Json waiter : lock.find("waiting").elements()) {
    waiting += (waiting.empty() ? "" : ", ") + text_of(waiter, "agent");
  }
  return {printable(waiting)};
}

}  // namespace

void add_lock(Command& app, int& exit_code) {
  const RouteCommand list{.name = "list",
                          .help = "List those that someone holds, by name",
                          .example = "parley lock list",
                          .arguments = {limit_of(10'000)},
                          .call = "GET /v1/locks?limit={--limit}",
                          .show = lists("locks", "no locks",
                                        {{"LOCK", member("name")},
                                         {"OWNER", member("owner")},
                                         {"FENCE", member("fence")},
                                         {"ENDS", member("ends_at", Colour::dim)},
                                         {"WAITING", waiters_of}})};
  const RouteCommand take{.name = "take",
                          .help = "Take one or renew it, and print its fencing number",
                          .example = "parley lock take deploy --wait 30s",
                          .arguments = {required("NAME", "The lock"),
                                        {.name = "--lease",
                                         .help = "How long it is held; else the rule lock.lease",
                                         .kind = Argument::Kind::duration},
                                        {.name = "--wait",
                                         .help = "Wait so long for it, in line",
                                         .kind = Argument::Kind::wait}},
                          .call = "PUT /v1/locks/{NAME}?wait={--wait}",
                          .body = Body{{"lease", "{--lease}"}},
                          .show = says("{fence}")};
  const RouteCommand release{
      .name = "release",
      .help = "Give one back",
      .example = "parley lock release deploy",
      .arguments = {required("NAME", "The lock"),
                    {.name = "--fence",
                     .help = "Only if it is held with this fencing number still",
                     .kind = Argument::Kind::number,
                     .type = "N"}},
      .call = "DELETE /v1/locks/{NAME}?fence={--fence}",
      .show = says("released {NAME}")};
  add_route_command(app, exit_code,
                    {.name = "lock",
                     .help = "Names that one agent holds at a time",
                     .subcommands = {list, take, release}});
}

}  // namespace parley::app
