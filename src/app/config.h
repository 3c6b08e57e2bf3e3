// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "edge/events/options.h"
#include "edge/files/options.h"
#include "edge/mcp/limits.h"
#include "edge/notify/settings.h"
#include "edge/telemetry/otlp_limits.h"
#include "edge/webhooks/limits.h"
#include "net/server.h"

namespace parley::app {

using base::Error;

// Where to listen: `127.0.0.1:7455`, `[::1]:7455`, `localhost:0`.
struct Address {
  std::string host;
  uint16_t port = 0;

  bool operator==(const Address&) const = default;
};

enum class LogLevel : uint8_t { error, warning, info, debug };

// All that a broker is told before it starts. Plain values; made by load_config.
struct Config {
  std::string data;  // the directory
  Address listen{"127.0.0.1", 7455};
  std::string tls_certificate;  // PEM files; both or none
  std::string tls_key;
  bool insecure = false;
  std::vector<std::string> allowed_hosts;  // beyond the loopback names and the listen address
  LogLevel log_level = LogLevel::info;
  net::Server::Limits server;
  edge::mcp::Limits mcp;
  edge::OtlpLimits otlp;
  edge::WebhookLimits webhook;
  base::Duration history_keep = base::hours(720);  // zero: for ever
  size_t disk_reserve = size_t{128} << 20;
  size_t history_feed_bytes_max = size_t{32} << 20;
  size_t history_questions_max = 64;      // of one principal
  std::string otlp_endpoint;              // empty: spans go nowhere
  std::vector<std::string> otlp_headers;  // NAME=VALUE; secrets
  std::string otlp_ca;                    // a PEM file to trust; empty: what the system trusts
  std::vector<std::string> webhook_allowed_networks;  // beside the whole Internet
  std::string webhook_ca;                             // as otlp_ca
  std::string github_as = "orchestrator";             // in whose name events are delegated
  std::string github_secret;                          // of the webhook; or the file that has it
  std::string github_secret_file;
  bool github_bots = false;
  size_t github_body_bytes_max = edge::events::hook_bytes_default;
  edge::events::Tables events;               // [[github.route]] and [[schedule]]
  std::vector<edge::notify::Target> notify;  // [[notify]]
  bool squad_files = true;
  std::string squad_files_root;                 // empty: DATA/memory
  std::vector<std::string> squad_file_senders;  // UID=NAME
  edge::files::Limits files;
  std::map<std::string, std::string> rules;  // name -> value as text; only those that are set

  // Where each key that is set got its value: `/etc/parley.toml:3`, `PARLEY_LISTEN`, `--listen`.
  std::map<std::string, std::string> origins;
};

// What is known of a key: `type` says in words what it takes, with its range.
struct KeyInfo {
  std::string name;
  std::string type;
  std::string default_value;
  std::string help;
  bool is_rule = false;
};

// Every key, the broker's own and the rules, sorted by name.
std::vector<KeyInfo> all_keys();

// The value of a key as text; of a rule that is not set its default.
std::string value_of(const Config& config, std::string_view key);

// The variable that sets a key: PARLEY_ and the name in capitals with `_` for `.`.
std::string variable_of(std::string_view key);

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Flag {
  std::string flag;  // as it was written: `--listen`
  std::string key;
  std::string value;
};

// Where values come from, in rising precedence.
struct ConfigSources {
  std::string file;   // of --config, or PARLEY_CONFIG; empty: DATA/parley.toml when it exists
  Pairs environment;  // all variables; those that do not start with PARLEY_ are ignored
  std::vector<Flag> flags;
};

// Reads all sources and checks the whole. The error names the place (file and line, variable or
// flag) and what would be right: the nearest key, the type and range of a value.
std::expected<Config, Error> load_config(const ConfigSources& sources);

// The data directory as the flags and the environment have it, else its default. bad_request when
// there is not even a home.
std::expected<std::string, Error> data_directory(std::string_view flag, const Pairs& environment);

// This process's environment.
Pairs environment();

// Reads HOST:PORT; an IPv6 address stands in brackets.
std::expected<Address, Error> parse_address(std::string_view text);
std::string format_address(const Address& address);
bool is_loopback(std::string_view host);

}  // namespace parley::app
