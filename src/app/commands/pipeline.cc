// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

int start(const PatternOptions& options) {
  std::string text;
  lib::JsonWriter out(text);
  out.object();
  write_names(out, "stages", options.agents);
  out.key("message");
  return post_pattern(options, "/v1/pipelines?lenient=true", std::move(text));
}

int show(Json answer, const Given& /*given*/) {
  const std::string waits_for = text_of(answer, "waits_for");
  const std::string error = text_of(answer, "error");
  std::printf("%s%s%s\n", text_of(answer, "state").c_str(),
              waits_for.empty() ? "" : (", waits for " + printable(waits_for)).c_str(),
              error.empty() ? "" : (": " + printable(error)).c_str());
  print_table(answer.find("stages"), "",
              {{"STAGE", member("agent")},
               {"STATE", member("state")},
               {"BEGAN", member("began", Colour::dim)},
               {"ENDED", member("ended", Colour::dim)},
               {"RESPONSE", response_of}});
  return 0;
}

}  // namespace

void add_pipeline(Command& app, int& exit_code) {
  const auto options = std::make_shared<PatternOptions>();
  Command* group = app.add_subcommand("pipeline", "Send work through agents, one after another");
  group->require_subcommand(1);
  Command* starts = group->add_subcommand("start", "Start one, and print its id");
  starts->add_option("--stage", options->agents, "The next agent; repeat it for each stage")
      ->required();
  takes_duration(*starts->add_option("--stage-timeout", options->draft.response_timeout,
                                     "How long each stage may take; else flow.request_timeout"));
  add_pattern_draft(*starts, *options);
  add_example(*starts, "parley pipeline start --stage coder --stage reviewer \"Add a dark mode\"");
  starts->callback([=, &exit_code] { exit_code = start(*options); });
  add_route_command(*group, exit_code,
                    {.name = "show",
                     .help = "How it stands",
                     .example = "parley pipeline show 1b4e28ba-2fa1-41d2-883f-0016d3cca427",
                     .arguments = {required("ID", "Its id, as it was printed")},
                     .call = "GET /v1/pipelines/{ID}",
                     .show = show});
}

}  // namespace parley::app
