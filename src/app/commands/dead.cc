// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

using lib::Json;

// Shared by the closures of one group, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string id;
  bool pending = false;
  uint64_t limit = 100;
};

std::string resolution_of(Json letter) {
  const Json resolution = letter.find("resolution");
  return resolution && resolution.is_object() ? text_of(resolution, "status") : "";
}

int list(const Options& options) {
  const HttpCall call{"GET", "/v1/dead-letters?limit=" + std::to_string(options.limit) +
                                 (options.pending ? "&state=pending" : "")};
  return ask_and_show(options.client, call, [](Json answer) {
    Table table({"ID", "REASON", "FAILED", "FROM", "TO", "RETRIES", "STATE", "LAST ERROR"});
    const Json letters = answer.find("dead_letters");
    for (const Json letter : letters ? letters.elements() : Json::Elements()) {
      constexpr size_t error_columns = 50;
      const std::string state = resolution_of(letter);
      table.add({{text_of(letter, "id")},
                 {text_of(letter, "reason")},
                 {text_of(letter, "failed_at"), Colour::dim},
                 {text_of(letter, "sender")},
                 {text_of(letter, "receiver")},
                 {text_of(letter, "retry_count")},
                 {state, state == "pending" ? Colour::yellow : Colour::plain},
                 {shortened(printable(text_of(letter, "last_error")), error_columns)}});
    }
    std::printf("%s", table.empty() ? "no dead letters\n" : table.render(wants_colours()).c_str());
    return 0;
  });
}

int show(const Options& options) {
  const HttpCall call{"GET", "/v1/dead-letters/" + encoded(options.id)};
  return ask_and_show(options.client, call, [](Json answer) {
    const Json inner = answer.find("dead_letter");
    const Json letter = inner ? inner : answer;
    Table table({"FIELD", "VALUE"});
    for (const auto& [key, value] : letter.members()) {
      if (key != "original_message") {
        table.add({{std::string(key)}, {text_of(letter, key)}});
      }
    }
    std::printf("%s", table.render(wants_colours()).c_str());
    if (const Json original = answer.find("original_message")) {
      std::printf("\n%s\n", printable_json(original.raw()).c_str());
    }
    return 0;
  });
}

int resolve(const Options& options, const std::string& act, const char* done) {
  const HttpCall call{"POST", "/v1/dead-letters/" + encoded(options.id) + "/" + act, "{}", {}};
  return ask_and_show(options.client, call, [&](Json) {
    std::printf("%s dead letter %s\n", done, printable(options.id).c_str());
    return 0;
  });
}

void add_one(Command& group, int& exit_code, const std::shared_ptr<Options>& options,
             const std::string& act, const std::string& help, const char* done) {
  Command* command = group.add_subcommand(act, help);
  command->add_option("ID", options->id, "The dead letter")->required();
  add_client_options(*command, options->client);
  add_example(*command, "parley dead " + act + " 17");
  command->callback([=, &exit_code] {
    exit_code = act == "show" ? show(*options) : resolve(*options, act, done);
  });
}

}  // namespace

void add_dead(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* dead = app.add_subcommand("dead", "Messages that could not be delivered");
  dead->require_subcommand(1);
  Command* listing = dead->add_subcommand("list", "List them, newest first");
  listing->add_flag("--pending", options->pending, "Only those that nobody has resolved");
  listing->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 1'000);
  add_client_options(*listing, options->client);
  add_example(*listing, "parley dead list --pending");
  listing->callback([=, &exit_code] { exit_code = list(*options); });
  add_one(*dead, exit_code, options, "show", "Show one with its message", "");
  add_one(*dead, exit_code, options, "retry", "Deliver it once more", "retried");
  add_one(*dead, exit_code, options, "discard", "Give it up for good", "discarded");
  add_one(*dead, exit_code, options, "escalate", "Hand it to a person", "escalated");
}

}  // namespace parley::app
