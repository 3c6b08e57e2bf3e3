// SPDX-License-Identifier: Apache-2.0
// `parley ack`, `nack` and `reject`: the commands that settle a message.
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

// Shared by the closures of the commands, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string id;
  std::string reason;
  std::string retry_after;
  bool unfailed = false;
};

int settle(const Options& options, const std::string& act, const char* done) {
  std::string body;
  JsonWriter writer(body);
  writer.object();
  if (!options.reason.empty()) {
    writer.key("reason").text(options.reason);
  }
  if (!options.retry_after.empty()) {
    writer.key("retry_after").text(options.retry_after);
  }
  if (options.unfailed) {
    writer.key("failed").boolean(false);
  }
  writer.end_object();
  const HttpCall call{"POST", "/v1/messages/" + encoded(options.id) + "/" + act, body, {}};
  return ask_and_show(options.client, call, [&](Json) {
    std::printf("%s %s\n", done, printable(options.id).c_str());
    return 0;
  });
}

}  // namespace

void add_ack(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* acking = app.add_subcommand("ack", "Settle a message: it is done");
  acking->add_option("ID", options->id, "The message")->required();
  add_client_options(*acking, options->client);
  add_example(*acking, "parley ack 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11");
  acking->callback([=, &exit_code] { exit_code = settle(*options, "ack", "acked"); });

  Command* nacking = app.add_subcommand("nack", "Give a message back, to be delivered again");
  nacking->add_option("ID", options->id, "The message")->required();
  nacking->add_option("--reason", options->reason, "Why");
  takes_duration(*nacking->add_option("--retry-after", options->retry_after, "Not before then"));
  nacking->add_flag("--unfailed", options->unfailed,
                    "Nobody failed, it was not tried: not one of attempts_max");
  add_client_options(*nacking, options->client);
  add_example(*nacking, "parley nack 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11 --retry-after 5s");
  nacking->callback([=, &exit_code] { exit_code = settle(*options, "nack", "gave back"); });

  Command* rejecting = app.add_subcommand("reject", "Refuse a message for good");
  rejecting->add_option("ID", options->id, "The message")->required();
  rejecting->add_option("--reason", options->reason, "Why; the sender reads it")->required();
  add_client_options(*rejecting, options->client);
  add_example(*rejecting,
              "parley reject 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11 --reason 'not my task'");
  rejecting->callback([=, &exit_code] { exit_code = settle(*options, "reject", "rejected"); });
}

}  // namespace parley::app
