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
  std::string name;
};

int add_a_workspace(const Options& options) {
  std::string body;
  JsonWriter(body).object().key("name").text(options.name).end_object();
  return ask_and_show(options.client, {"POST", "/v1/workspaces", body, {}}, [&](Json answer) {
    return show_token("the admin of workspace " + printable(options.name), answer);
  });
}

int list_workspaces(const Options& options) {
  return ask_and_show(options.client, {"GET", "/v1/workspaces"}, [](Json answer) {
    Table table({"NAME"});
    const Json workspaces = answer.find("workspaces");
    for (const Json workspace : workspaces ? workspaces.elements() : Json::Elements()) {
      const auto name = workspace.as_string();
      table.add({{name ? std::string(*name) : text_of(workspace, "name")}});
    }
    std::printf("%s", table.render(wants_colours()).c_str());
    return 0;
  });
}

}  // namespace

void add_workspace(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* workspace = app.add_subcommand("workspace", "Workspaces: nothing crosses between them");
  workspace->require_subcommand(1);
  Command* making = workspace->add_subcommand("add", "Make one; prints its admin's token once");
  making->add_option("NAME", options->name, "Its name")->required();
  add_client_options(*making, options->client);
  add_example(*making, "parley workspace add research");
  making->callback([=, &exit_code] { exit_code = add_a_workspace(*options); });
  Command* listing = workspace->add_subcommand("list", "List them");
  add_client_options(*listing, options->client);
  add_example(*listing, "parley workspace list");
  listing->callback([=, &exit_code] { exit_code = list_workspaces(*options); });
}

}  // namespace parley::app
