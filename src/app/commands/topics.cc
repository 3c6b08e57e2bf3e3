// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

// Who subscribes is not for everyone; how many is.
Table::Cell subscribers_of(Json topic) {
  const std::string names = joined(topic.find("subscribers"));
  return {names.empty() ? text_of(topic, "subscriber_count") : names};
}

int show(Json answer, const Given& /*given*/) {
  print_table(
      answer.find("topics"), "no topics",
      {{"TOPIC", member("name")}, {"KEPT", member("retained")}, {"SUBSCRIBERS", subscribers_of}});
  if (text_of(answer, "more") == "true") {
    std::fprintf(stderr, "these are the first of %s; GET /v1/topics?after=NAME lists the rest\n",
                 text_of(answer, "count").c_str());
  }
  return 0;
}

}  // namespace

void add_topics(Command& app, int& exit_code) {
  add_route_command(app, exit_code,
                    {.name = "topics",
                     .help = "List topics, and who subscribes to them or how many do",
                     .example = "parley topics --json",
                     .call = "GET /v1/topics",
                     .show = show});
}

}  // namespace parley::app
