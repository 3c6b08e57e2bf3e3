// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"

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

int show(const PatternOptions& options) {
  return ask_and_show(
      options.client, {"GET", "/v1/pipelines/" + encoded(options.id)}, [](Json answer) {
        const std::string waits_for = text_of(answer, "waits_for");
        const std::string error = text_of(answer, "error");
        std::printf("%s%s%s\n", text_of(answer, "state").c_str(),
                    waits_for.empty() ? "" : (", waits for " + printable(waits_for)).c_str(),
                    error.empty() ? "" : (": " + printable(error)).c_str());
        Table table({"STAGE", "STATE", "BEGAN", "ENDED", "RESPONSE"});
        for (const Json stage : answer.find("stages").elements()) {
          table.add({{text_of(stage, "agent")},
                     {text_of(stage, "state")},
                     {text_of(stage, "began"), Colour::dim},
                     {text_of(stage, "ended"), Colour::dim},
                     {message_place(stage, "response"), Colour::dim}});
        }
        std::printf("%s", table.render(wants_colours()).c_str());
        return 0;
      });
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
  Command* shows = group->add_subcommand("show", "How it stands");
  add_pattern_id(*shows, *options);
  add_example(*shows, "parley pipeline show 1b4e28ba-2fa1-41d2-883f-0016d3cca427");
  shows->callback([=, &exit_code] { exit_code = show(*options); });
}

}  // namespace parley::app
