// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "base/time.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;
using lib::JsonWriter;

// Shared by the closures of one group, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string name;
  std::string lease;
  std::string wait;
  uint64_t fence = 0;
  uint64_t limit = 100;
};

Json::Elements elements(Json object, const char* key) {
  const Json list = object ? object.find(key) : Json();
  return list ? list.elements() : Json::Elements();
}

int list(const Options& options) {
  const HttpCall call{"GET", "/v1/locks?limit=" + std::to_string(options.limit)};
  return ask_and_show(options.client, call, [](Json answer) {
    Table table({"LOCK", "OWNER", "FENCE", "ENDS", "WAITING"});
    for (const Json lock : elements(answer, "locks")) {
      std::string waiting;
      for (const Json waiter : elements(lock, "waiting")) {
        waiting += (waiting.empty() ? "" : ", ") + text_of(waiter, "agent");
      }
      table.add({{text_of(lock, "name")},
                 {text_of(lock, "owner")},
                 {text_of(lock, "fence")},
                 {text_of(lock, "ends_at"), Colour::dim},
                 {printable(waiting)}});
    }
    std::printf("%s", table.empty() ? "no locks\n" : table.render(wants_colours()).c_str());
    return 0;
  });
}

int take(const Options& options) {
  std::string body;
  JsonWriter out(body);
  out.object();
  if (!options.lease.empty()) {
    out.key("lease").text(options.lease);
  }
  out.end_object();
  HttpCall call{
      "PUT",
      "/v1/locks/" + encoded(options.name) + (options.wait.empty() ? "" : "?wait=" + options.wait),
      std::move(body),
      {}};
  call.patience.us += base::parse_duration(options.wait).value_or(base::Duration{}).us;
  return ask_and_show(options.client, call, [](Json answer) {
    std::printf("%s\n", text_of(answer, "fence").c_str());
    return 0;
  });
}

int release(const Options& options) {
  const HttpCall call{"DELETE",
                      "/v1/locks/" + encoded(options.name) +
                          (options.fence == 0 ? "" : "?fence=" + std::to_string(options.fence))};
  return ask_and_show(options.client, call, [&](Json) {
    std::printf("released %s\n", printable(options.name).c_str());
    return 0;
  });
}

void finish(Command& command, int& exit_code, const std::shared_ptr<Options>& options,
            const char* example, int (*run)(const Options&)) {
  add_client_options(command, options->client);
  add_example(command, example);
  command.callback([=, &exit_code] { exit_code = run(*options); });
}

}  // namespace

void add_lock(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* group = app.add_subcommand("lock", "Names that one agent holds at a time");
  group->require_subcommand(1);
  Command* lists = group->add_subcommand("list", "List those that someone holds, by name");
  lists->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 10'000);
  finish(*lists, exit_code, options, "parley lock list", &list);
  Command* takes =
      group->add_subcommand("take", "Take one or renew it, and print its fencing number");
  takes->add_option("NAME", options->name, "The lock")->required();
  takes_duration(*takes->add_option("--lease", options->lease,
                                    "How long it is held; else the rule lock.lease"));
  takes_duration(*takes->add_option("--wait", options->wait, "Wait so long for it, in line"));
  finish(*takes, exit_code, options, "parley lock take deploy --wait 30s", &take);
  Command* releases = group->add_subcommand("release", "Give one back");
  releases->add_option("NAME", options->name, "The lock")->required();
  releases
      ->add_option("--fence", options->fence, "Only if it is held with this fencing number still")
      ->type_name("N");
  finish(*releases, exit_code, options, "parley lock release deploy", &release);
}

}  // namespace parley::app
