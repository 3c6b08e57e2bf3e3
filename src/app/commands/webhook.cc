// SPDX-License-Identifier: Apache-2.0
#include "app/commands/webhook.h"

#include <cstdio>
#include <memory>

#include "app/options.h"
#include "app/route_command.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;
using lib::JsonWriter;

// Shared by the closures, because CLI11 copies them.
struct Options {
  WebhookOwners owners;
  ClientOptions client;
  std::string name;
  std::string url;
  bool remove = false;
  bool rotate = false;
};

std::string body_of(const Options& options) {
  std::string body;
  JsonWriter writer(body);
  writer.object().key(options.owners.key).text(options.name).key("webhook");
  if (options.remove) {
    writer.null();
  } else {
    writer.object();
    if (!options.url.empty()) {
      writer.key("url").text(options.url);
    }
    if (options.rotate) {
      writer.key("rotate_secret").boolean(true);
    }
    writer.end_object();
  }
  writer.end_object();
  return body;
}

// Changes nothing but the webhook. Asks first, because an admin who misspells a name would register
// another principal by it.
int set_webhook(const Options& options) {
  const std::string command = "parley " + options.owners.group;
  if (options.url.empty() && !options.rotate && !options.remove) {
    return complain({"", "there is nothing to change",
                     "Give a URL, --rotate or --remove; `parley agent show " +
                         options.owners.prefix + options.name + "` says how it is."});
  }
  const std::string id = options.owners.prefix + options.name;
  const auto known = ask(options.client, {"GET", "/v1/agents/" + encoded(id)});
  if (!known) {
    Failure failure = known.error();
    if (failure.code == "NOT_FOUND") {
      failure = {"NOT_FOUND", "there is no " + options.owners.group + " " + options.name,
                 "`parley agent list` shows who there is; `" + command +
                     " add --webhook URL` registers one."};
    }
    return complain(failure);
  }
  return ask_and_show(
      options.client, {"POST", options.owners.route, body_of(options), {}}, [&](Json answer) {
        const std::string secret = text_of(answer, "webhook_secret");
        std::fprintf(stderr, "the webhook of %s is %s\n", printable(id).c_str(),
                     options.remove ? "removed" : "set");
        if (!secret.empty()) {
          std::fprintf(stderr, "This is what it is signed with; it is shown only this once:\n");
          std::printf("%s\n", printable(secret).c_str());
        }
        return 0;
      });
}

}  // namespace

void add_webhook_command(Command& group, int& exit_code, const WebhookOwners& owners) {
  const auto options = std::make_shared<Options>(Options{.owners = owners});
  Command* hooking = group.add_subcommand(
      "webhook", "Set where the " + owners.group +
                     " is told of mail; prints the secret once, a new one for each host");
  hooking->add_option(owners.prefix.empty() ? "ID" : "NAME", options->name, "The name")->required();
  Option* url = hooking->add_option("URL", options->url, "https, or as the broker allows");
  Option* rotating = hooking->add_flag("--rotate", options->rotate, "Make a new secret");
  hooking->add_flag("--remove", options->remove, "Have none")->excludes(url)->excludes(rotating);
  add_client_options(*hooking, options->client);
  add_example(*hooking, "parley " + owners.group + " webhook " + owners.example +
                            " https://example.org/wake");
  hooking->callback([=, &exit_code] { exit_code = set_webhook(*options); });
}

void show_webhook_secret(Json answer) {
  const std::string secret = text_of(answer, "webhook_secret");
  if (!secret.empty()) {
    std::fprintf(stderr,
                 "This is what its webhook is signed with; it is shown only this once:\n"
                 "  %s\n",
                 printable(secret).c_str());
  }
}

}  // namespace parley::app
