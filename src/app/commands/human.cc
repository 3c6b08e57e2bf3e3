// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;
using lib::JsonWriter;

// Shared with the closure, because CLI11 copies it.
struct Options {
  ClientOptions client;
  std::string name;
  std::vector<std::string> rights;
};

int add_a_human(const Options& options) {
  std::string body;
  JsonWriter writer(body);
  writer.object().key("name").text(options.name);
  if (!options.rights.empty()) {
    writer.key("rights").array();
    for (const std::string& right : options.rights) {
      writer.text(right);
    }
    writer.end_array();
  }
  writer.end_object();
  return ask_and_show(options.client, {"POST", "/v1/humans", body, {}}, [&](Json answer) {
    return show_token("human:" + printable(options.name), answer);
  });
}

}  // namespace

void add_human(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* human = app.add_subcommand("human", "Register people");
  human->require_subcommand(1);
  Command* adding = human->add_subcommand("add", "Register a person; prints the token once");
  adding->add_option("NAME", options->name, "The name; others write human:NAME")->required();
  adding->add_option("--right", options->rights, "A right the person has; may be repeated")
      ->one_of({"approver", "moderator", "maintainer", "admin"})
      ->takes_one();
  add_client_options(*adding, options->client);
  add_example(*adding, "parley human add ada --right approver");
  adding->callback([=, &exit_code] { exit_code = add_a_human(*options); });
}

}  // namespace parley::app
