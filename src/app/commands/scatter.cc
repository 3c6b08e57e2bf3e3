// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/route_command.h"

namespace parley::app {

namespace {

using lib::Json;

// Shared with the closure, because CLI11 copies it.
struct Options : PatternOptions {
  std::string strategy = "all";
  std::string window;
  std::string on_partial = "proceed_with_available";
};

int start(const Options& options) {
  std::string text;
  lib::JsonWriter out(text);
  out.object();
  write_names(out, "receivers", options.agents);
  out.key("strategy").text(options.strategy).key("on_partial").text(options.on_partial);
  if (!options.window.empty()) {
    out.key("timeout").text(options.window);
  }
  out.key("message");
  return post_pattern(options, "/v1/scatter?lenient=true", std::move(text));
}

int show(Json answer, const Given& /*given*/) {
  std::printf("%s: %s of %s answers (%s)\n", text_of(answer, "state").c_str(),
              text_of(answer, "good").c_str(), text_of(answer, "needed").c_str(),
              text_of(answer, "strategy").c_str());
  print_table(answer.find("members"), "",
              {{"AGENT", member("agent")},
               {"STATE", member("state")},
               {"STATUS", member("status")},
               {"RESPONSE", response_of}});
  return 0;
}

}  // namespace

void add_scatter(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* group = app.add_subcommand("scatter", "Ask several agents and gather their answers");
  group->require_subcommand(1);
  Command* asks = group->add_subcommand("ask", "Ask them, and print the id of the question");
  asks->add_option("--to", options->agents, "An agent to ask; may be repeated")->required();
  asks->add_option("--strategy", options->strategy,
                   "When there are enough: all, any, majority or quorum(N); all");
  takes_duration(*asks->add_option("--window", options->window,
                                   "How long to wait; else the rule flow.gather_window"));
  asks->add_option("--on-partial", options->on_partial,
                   "At its end: proceed_with_available, fail or extend_timeout")
      ->one_of({"proceed_with_available", "fail", "extend_timeout"});
  add_pattern_draft(*asks, *options);
  add_example(*asks, "parley scatter ask --to bo --to cy --strategy majority \"Ship it?\"");
  asks->callback([=, &exit_code] { exit_code = start(*options); });
  add_route_command(*group, exit_code,
                    {.name = "show",
                     .help = "How it stands",
                     .example = "parley scatter show 1b4e28ba-2fa1-41d2-883f-0016d3cca427",
                     .arguments = {required("ID", "Its id, as it was printed")},
                     .call = "GET /v1/scatter/{ID}",
                     .show = show});
}

}  // namespace parley::app
