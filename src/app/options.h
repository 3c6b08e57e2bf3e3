// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/client/client.h"
#include "app/command_line.h"
#include "app/config.h"
#include "app/text/compose.h"
#include "app/text/terminal.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::app {

// What several subcommands share: options, and what they do with them.

// Whose token is used when the user gives none.
enum class Speaker : uint8_t {
  anyone,      // that of PARLEY_TOKEN, else the local admin's
  agent,       // that kept for --agent, else that of PARLEY_TOKEN; never the admin's
  supervisor,  // that of PARLEY_TOKEN, else that kept for --agent; never the admin's
};
// Adds --url, --token, --ca and --data.
void add_broker_options(Command& command, ClientOptions& options,
                        Speaker speaker = Speaker::anyone);
// Adds the same, and --json.
void add_client_options(Command& command, ClientOptions& options,
                        Speaker speaker = Speaker::anyone);

// Sets the last part of a command's help.
void add_example(Command& command, std::string_view example, const std::string& details = {});

// Lets an option refuse an empty text, which a script gives when its variable is empty.
void takes_text(Option& option);

// Lets an option take durations only, such as `30s`.
void takes_duration(Option& option);

// Prints the token of an answer that registered `whose`, if it has one, and returns the exit code.
// The token alone goes to standard output, so that `TOKEN=$(parley agent add ...)` works; what to
// do with it goes to standard error.
int show_token(const std::string& whose, lib::Json answer);

// The flags of the commands that read the whole configuration. Each flag sets a key of it.
struct ConfigFlags {
  std::string file;
  std::string data;
  std::string listen;
  std::string tls_certificate;
  std::string tls_key;
  std::string allowed_hosts;
  std::string log_level;
  std::string otlp_endpoint;
  std::vector<std::string> settings;  // KEY=VALUE
  bool insecure = false;

  void add_to(Command& command);
  // The flags together with this process's environment.
  ConfigSources sources() const;
};

// What `parley scatter` and `parley pipeline` have in common: one message for several agents, and
// an id under which the broker tells how it stands.
struct PatternOptions {
  ClientOptions client;
  Draft draft{.type = "request"};
  std::vector<std::string> agents;
};

// Adds the arguments that describe the message.
void add_pattern_draft(Command& command, PatternOptions& options);

void write_names(lib::JsonWriter& out, std::string_view key, const std::vector<std::string>& names);

// Posts `members`, an object that ends with `"message":`, with the message behind it. Prints the id
// of what was begun, and returns the exit code.
int post_pattern(const PatternOptions& options, const std::string& path, std::string members);

// A cell with the id of the response of one who was asked; its place in the journal where it has no
// id.
Table::Cell response_of(lib::Json asked);

}  // namespace parley::app
