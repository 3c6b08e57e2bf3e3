// SPDX-License-Identifier: Apache-2.0
#include "app/text/docs.h"

#include "app/config.h"
#include "base/error.h"

namespace parley::app {

namespace {

// The keys that are rules, or all others.
std::string key_table(bool rules) {
  std::string table = "| key | takes | default | what |\n|---|---|---|---|\n";
  for (const KeyInfo& key : all_keys()) {
    if (key.is_rule == rules) {
      table += "| `" + key.name + "` | " + key.type + " | " + key.default_value + " | " + key.help +
               " |\n";
    }
  }
  return table;
}

}  // namespace

std::string rules_page() {
  return "# Rules\n\n"
         "Every limit and policy value of a workspace. Made from `src/core/model/rules.cc`.\n"
         "[configuration.md](configuration.md) says how to set one.\n\n" +
         key_table(true);
}

std::string errors_page() {
  std::string page =
      "# Errors\n\n"
      "Every error has a code from this table; the names hold for ever. Made from\n"
      "`src/base/error.cc`.\n\n"
      "A code without a status is said by tools of MCP or by the command line, never over HTTP.\n"
      "The command line also shows `HTTP_404` and its like: the status of an answer that no\n"
      "broker gave.\n\n"
      "| code | HTTP | meaning | what to do |\n|---|---|---|---|\n";
  for (const base::CodeInfo& info : base::all_codes()) {
    const std::string status = info.http_status == 0 ? "-" : std::to_string(info.http_status);
    page += "| `" + std::string(info.name) + "` | " + status + " | " + std::string(info.title) +
            " | " + std::string(info.advice) + " |\n";
  }
  return page;
}

std::string configuration_page() {
  const std::string page = R"(# Configuration

Made from `src/app/config.cc`.

A value comes from, in rising precedence:

1. the file of `--config FILE` or `PARLEY_CONFIG`, else `DIR/parley.toml` in the data directory if
   it is there;
2. the environment: `PARLEY_` and the key in capitals, with `_` for each `.`. `flow.ttl.critical` is
   `PARLEY_FLOW_TTL_CRITICAL`;
3. flags: `--data`, `--listen`, `--tls-certificate`, `--tls-key`, `--insecure`, `--allowed-hosts`,
   `--log-level`, `--otlp-endpoint`, and `--set KEY=VALUE` for every key.

`parley config show` lists every key with its value and where the value comes from; beside a running
broker it shows the rules that the broker goes by.

    # parley.toml
    listen = "127.0.0.1:7455"
    queue_max = 5000

    [server]
    body_bytes_max = "4MB"
    idle_timeout = "10m"

    [flow.ttl]
    critical = "2m"

    [[github.route]]
    event = "issues.opened"
    label = "security"
    worker = "triage"
    priority = "high"
    requires_hitl = true

    [[schedule]]
    at = "03:00"
    worker = "lifecycle"
    description = "Look for issues without an answer"
    repository = "octo-org/widgets"

- `[[notify]]` is a table of the file alone: see [Notifications](reference/notify.md). So are
  `[[github.route]]` and `[[schedule]]`: see
  [Events](reference/github.md). `parley route test` shows what a route does.
- Durations are `500ms`, `30s`, `5m`, `72h`; sizes `10KB`, `1MB`, in powers of 1024, or a number of
  bytes; a list is an array in TOML and has commas between its items elsewhere.
- A key that is in neither table is an error that names the nearest one, with file and line. So is
  a variable that begins with `PARLEY_`, but for `PARLEY_URL`, `PARLEY_TOKEN`, `PARLEY_CA` and
  `PARLEY_CONFIG`; `PARLEY_AGENT` and `PARLEY_MESSAGE_*`, which `parley run` sets; and
  `PARLEY_PORT`, `PARLEY_PORT_*` and `PARLEY_SERVICE_*`, which Kubernetes sets.
- `data` cannot be set in `DIR/parley.toml`, only in a file that was named.
- Listening on another address than this machine's own wants `tls.certificate` and `tls.key`, or
  `insecure = true`.
- The rules of [rules.md](rules.md) are keys too: they go through the journal when the broker
  starts, and hold until they are set otherwise, here or by `PATCH /v1/rules`.

## The broker's own

)";
  return page + key_table(false);
}

}  // namespace parley::app
