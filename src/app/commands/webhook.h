// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/command_line.h"
#include "lib/json.h"

namespace parley::app {

// Whose webhooks a group of subcommands sets.
struct WebhookOwners {
  std::string group;     // of the command line
  std::string route;     // that registers them
  std::string key;       // of the name in its body
  std::string prefix{};  // of the name elsewhere
  std::string example;   // a name
};

// Adds `webhook NAME URL` to the group.
void add_webhook_command(Command& group, int& exit_code, const WebhookOwners& owners);

// The secret of a webhook that was set beside other things: on standard error, because scripts take
// what else is printed.
void show_webhook_secret(lib::Json answer);

}  // namespace parley::app
