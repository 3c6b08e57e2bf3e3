// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;
using lib::JsonWriter;

// Shared by the closures of one group, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string id;
  std::string resolution;
  bool open = false;
  uint64_t limit = 100;
};

int list(const Options& options) {
  const HttpCall call{"GET", "/v1/escalations?limit=" + std::to_string(options.limit) +
                                 (options.open ? "&state=open" : "")};
  return ask_and_show(options.client, call, [](Json answer) {
    Table table({"ID", "STATE", "SINCE", "CAUSE", "AGENT", "WHY", "RESOLUTION"});
    for (const Json escalation : answer.find("escalations").elements()) {
      constexpr size_t columns = 60;
      const std::string state = text_of(escalation, "state");
      const std::string by = text_of(escalation, "resolved_by");
      table.add({{text_of(escalation, "id")},
                 {state, state == "open" ? Colour::yellow : Colour::plain},
                 {text_of(escalation, "since"), Colour::dim},
                 {text_of(escalation, "cause")},
                 {text_of(escalation, "agent")},
                 {shortened(printable(text_of(escalation, "why")), columns)},
                 {by.empty() ? "" : by + ": " + printable(text_of(escalation, "resolution"))}});
    }
    std::printf("%s", table.empty() ? "no escalations\n" : table.render(wants_colours()).c_str());
    return 0;
  });
}

int resolve(const Options& options) {
  std::string body;
  JsonWriter(body).object().key("resolution").text(options.resolution).end_object();
  const HttpCall call{"POST", "/v1/escalations/" + encoded(options.id) + "/resolve", body, {}};
  return ask_and_show(options.client, call, [&](Json) {
    std::printf("resolved escalation %s\n", printable(options.id).c_str());
    return 0;
  });
}

}  // namespace

void add_escalations(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* group = app.add_subcommand("escalations", "What a human is asked to decide");
  group->require_subcommand(1);
  Command* lists = group->add_subcommand("list", "List them, newest first");
  lists->add_flag("--open", options->open, "Only those that nobody has resolved");
  lists->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 1'000);
  add_client_options(*lists, options->client);
  add_example(*lists, "parley escalations list --open");
  lists->callback([=, &exit_code] { exit_code = list(*options); });
  Command* resolves = group->add_subcommand("resolve", "Say what was decided");
  resolves->add_option("ID", options->id, "The escalation")->required();
  resolves->add_option("RESOLUTION", options->resolution, "What was decided")->required();
  add_client_options(*resolves, options->client);
  add_example(*resolves, "parley escalations resolve 17 \"cy takes over\"");
  resolves->callback([=, &exit_code] { exit_code = resolve(*options); });
}

}  // namespace parley::app
