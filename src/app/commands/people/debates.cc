// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell state_of(Json debate) {
  const std::string state = text_of(debate, "state");
  return {state, state == "open" || state == "escalated" ? Colour::yellow : Colour::plain};
}

// Each debate of the thread, with who said what in it.
int show_debates(Json answer, const Given& /*given*/) {
  for (const Json debate : answer.find("items").elements()) {
    const std::string line = "debate " + text_of(debate, "id") + ": " +
                             text_of(debate, "challenger") + " challenges " +
                             text_of(debate, "challenged") + ", " + text_of(debate, "state") +
                             " after " + text_of(debate, "rounds") + " rounds";
    std::printf("%s\n", printable(line).c_str());
    print_table(debate.find("steps"), "",
                {{"AT", member("created_at", Colour::dim)},
                 {"ACT", member("act")},
                 {"AGENT", member("agent")},
                 {"MESSAGE", member("message_id")},
                 {"SUBJECT", member("subject")}});
    if (const std::string outcome = text_of(debate, "outcome"); !outcome.empty()) {
      std::printf("%s: %s\n", printable(text_of(debate, "ended_by")).c_str(),
                  printable(outcome).c_str());
    }
  }
  return 0;
}

}  // namespace

void add_debates(Command& app, int& exit_code) {
  const RouteCommand list{
      .name = "list",
      .help = "List them, newest first",
      .example = "parley debates list --state unresolved",
      .arguments = {{.name = "--state",
                     .help = "Only those; unresolved are those that are open or escalated",
                     .words = {"unresolved", "open", "escalated", "revised", "withdrawn",
                               "resolved", "all"}},
                    limit_of(1'000)},
      .call = "GET /v1/debates?limit={--limit}&state={--state}",
      .show = lists("items", "no debates",
                    {{"ID", member("id")},
                     {"STATE", state_of},
                     {"SINCE", member("created_at", Colour::dim)},
                     {"THREAD", member("thread")},
                     {"CHALLENGER", member("challenger")},
                     {"CHALLENGED", member("challenged")},
                     {"ROUNDS", member("rounds")},
                     {"OUTCOME", member("outcome", size_t{60})}})};
  const RouteCommand show{.name = "show",
                          .help = "Show what was said in the debates of a thread",
                          .example = "parley debates show THREAD-pricing",
                          .arguments = {required("THREAD", "The thread")},
                          .call = "GET /v1/debates/{THREAD}",
                          .show = show_debates};
  add_route_command(app, exit_code,
                    {.name = "debates",
                     .help = "What agents dispute among themselves",
                     .subcommands = {list, show}});
  add_route_command(app, exit_code,
                    {.name = "overdue",
                     .help = "List handoffs and queries to which nobody has reacted in time",
                     .example = "parley overdue --json",
                     .arguments = {limit_of(1'000)},
                     .call = "GET /v1/overdue?limit={--limit}",
                     .show = lists("items", "nothing is overdue",
                                   {{"MESSAGE", member("message_id")},
                                    {"KIND", member("kind")},
                                    {"PRIORITY", member("priority")},
                                    {"FROM", member("from")},
                                    {"TO", member("to")},
                                    {"OVERDUE", member("overdue_for")},
                                    {"SUBJECT", member("subject", size_t{60})}})});
}

}  // namespace parley::app
